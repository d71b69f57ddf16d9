"""`make bench`: the figures of the README, measured from outside on a real server.

python -m bench [--mind embedded:1.5b] [-n 20] [--report docs/reports/NAME.md]
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.line import SAMPLES_PER_MS, Line, open_line
from bench.server import Server, machine, serve
from bench.speech import INTERRUPTION, QUESTIONS, spoken

PREFIX_MS, SILENCE_MS, FRAME_MS = 300, 500, 32
COUNT_ALOUD = f"Say aloud: {', '.join(str(number) for number in range(1, 21))}, and so on up to sixty."
COUNTING = "Count slowly from one to sixty, one number after the other."


@dataclass
class Figures:
    """Milliseconds, one entry for each turn."""

    first_audio: list[float] = field(default_factory=list)
    interruption: list[float] = field(default_factory=list)
    started_lag: list[float] = field(default_factory=list)
    stopped_lag: list[float] = field(default_factory=list)
    underrun: list[float] = field(default_factory=list)


async def spoken_turns(line: Line, count: int, figures: Figures) -> None:
    """Questions, each answered in full before the next."""
    for number in range(count):
        start = len(line.events)
        _, last_word = await line.say(spoken(QUESTIONS[number % len(QUESTIONS)]))
        first, _ = await line.wait("response.output_audio.delta", start)
        figures.first_audio.append((first - last_word) * 1000)
        await line.wait("response.done", start)
        _vad_lags(line, start, figures)
        figures.underrun.append(_underrun_ms(line, start))
        await asyncio.sleep(1.2)  # what was sent ahead is heard to its end


async def interruptions(line: Line, count: int, figures: Figures) -> None:
    """Long answers, each cut by somebody who speaks over it."""
    cut = 0
    for _ in range(2 * count):
        if cut == count:
            return
        start = len(line.events)
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": COUNTING}]}
        await line.send(type="conversation.item.create", item=item)
        await line.send(type="response.create", response={"instructions": COUNT_ALOUD})
        await line.wait("response.output_audio.delta", start)
        await asyncio.sleep(0.6)
        if line.of("response.done", start):
            continue  # a short answer: nothing to interrupt
        begin, _ = await line.say(spoken(INTERRUPTION))
        await line.wait("input_audio_buffer.speech_started", start)
        _, done = await line.wait("response.done", start)
        _vad_lags(line, start, figures)
        if done["response"]["status"] == "cancelled":
            deltas = [
                at
                for at, event in line.of("response.output_audio.delta", start)
                if event["response_id"] == done["response"]["id"]
            ]
            cut += 1
            figures.interruption.append(max(0.0, (deltas[-1] - begin) * 1000))
        after = len(line.events)
        await line.wait("response.done", after)
        await asyncio.sleep(1.2)


def _vad_lags(line: Line, start: int, figures: Figures) -> None:
    """How far each event came behind the sending of the audio that decided it."""
    for at, event in line.of("input_audio_buffer.speech_started", start):
        decided_ms = event["audio_start_ms"] + PREFIX_MS + FRAME_MS
        figures.started_lag.append((at - line.sent_at(decided_ms * SAMPLES_PER_MS - 1)) * 1000)
    for at, event in line.of("input_audio_buffer.speech_stopped", start):
        figures.stopped_lag.append((at - line.sent_at(event["audio_end_ms"] * SAMPLES_PER_MS - 1)) * 1000)


def _underrun_ms(line: Line, start: int) -> float:
    """How long a listener who plays each delta as it comes would have heard nothing in mid-answer."""
    until, gap = None, 0.0
    for at, event in line.of("response.output_audio.delta", start):
        if until is not None and at > until:
            gap += at - until
        until = max(until or at, at) + event["ms"] / 1000
    return gap * 1000


async def measure(server: Server, lines: int, count: int) -> Figures:
    """`lines` calls at once, each with its share of `count` turns and interruptions."""
    figures = Figures()

    async def call() -> None:
        async with open_line(server.url, server.key) as line:
            await line.configure(
                audio={"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": SILENCE_MS}}}
            )
            await asyncio.sleep(1.0)
            share = -(-count // lines)
            await spoken_turns(line, share, figures)
            await interruptions(line, share, figures)

    await asyncio.gather(*(call() for _ in range(lines)))
    return figures


async def calls_that_fit(server: Server, most: int) -> list[tuple[int, float, float]]:
    """For 1, 2, … calls at once: median time to first audio and median silence in mid-answer (ms), 4 turns each."""
    rows: list[tuple[int, float, float]] = []
    for lines in range(1, most + 1):
        figures = Figures()

        async def call(figures: Figures = figures) -> None:
            async with open_line(server.url, server.key) as line:
                await asyncio.sleep(1.0)
                await spoken_turns(line, 4, figures)

        results = await asyncio.gather(*(call() for _ in range(lines)), return_exceptions=True)
        if any(isinstance(result, BaseException) for result in results):
            break
        rows.append((lines, statistics.median(figures.first_audio), statistics.median(figures.underrun)))
        if rows[-1][1] > 2_500:
            break
    return rows


def row(name: str, values: Sequence[float]) -> str:
    """One line of a table: a figure's median, least, 95th percentile and count."""
    if not values:
        return f"| {name} | none | | | 0 |"
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"| {name} | {statistics.median(values):.0f} | {ordered[0]:.0f} | {high:.0f} | {len(values)} |"


def table(title: str, figures: Figures) -> list[str]:
    """The figures of one layout, as Markdown."""
    return [
        "",
        f"### {title}",
        "",
        "| ms | median | least | 95 % | n |",
        "|---|---|---|---|---|",
        row("end of last word to first audio, 500 ms silence", figures.first_audio),
        row("start of an interruption to last audio sent", figures.interruption),
        row("speech_started behind its audio", figures.started_lag),
        row("speech_stopped behind its audio", figures.stopped_lag),
        row("silence in mid-answer, a turn", figures.underrun),
    ]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench")
    options.add_argument("--mind", default="embedded:1.5b")
    options.add_argument("-n", type=int, default=20, help="turns and interruptions of each kind")
    options.add_argument("--most", type=int, default=4, help="calls at once, at the most")
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    lines = [f"Mind {chosen.mind}; {machine()}; {datetime.datetime.now(datetime.UTC):%Y-%m-%d}; n = {chosen.n}."]
    print(lines[0], flush=True)
    with serve(chosen.mind, RTH_LOCAL_CAPACITY=str(max(2, chosen.most))) as server:
        lines.append(f"\nReady after {server.ready_s:.1f} s; {server.memory_mib():.0f} MiB resident when ready.")
        for count in (1, 2):
            figures = asyncio.run(measure(server, count, chosen.n))
            seen = table(f"{count} call{'s at once' if count > 1 else ''}", figures)
            print("\n".join(seen), flush=True)  # as it is seen: a long run that is stopped has still said something
            lines += seen
        lines += ["", "| calls at once | first audio, median ms | silence in mid-answer, median ms |", "|---|---|---|"]
        lines += [
            f"| {n} | {first:.0f} | {gap:.0f} |" for n, first, gap in asyncio.run(calls_that_fit(server, chosen.most))
        ]
        lines.append(f"\n{server.memory_mib():.0f} MiB resident at the end, {server.threads()} threads.")
    text = "\n".join(lines)
    print(text)
    if chosen.report:
        chosen.report.write_text(f"# Measurements\n\n{text}\n")


if __name__ == "__main__":
    main()
