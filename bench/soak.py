"""`make soak`: a long call and many short ones; what must stay flat, and what must never mix.

python -m bench.soak [--turns 60] [--calls 200] [--mind embedded:0.5b] [--report docs/reports/NAME.md]
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import random
import time
from pathlib import Path

from bench.line import open_line
from bench.server import Server, machine, serve
from bench.speech import QUESTIONS, spoken

GROWTH_MIB = 40.0  # after warm-up, over the whole run
SECRETS = ("walnut", "copper", "violet", "saddle", "magnet", "pepper", "tunnel", "basket")


class Rows(list[str]):
    """What was seen, told as it is seen: a long run that is stopped has still said something."""

    def append(self, row: str) -> None:
        print(f"* {row}", flush=True)
        super().append(row)


async def long_call(server: Server, turns: int, contexts: int) -> list[str]:
    """One call of many spoken turns, with so many context items spread evenly between them."""
    rows = Rows()
    async with open_line(server.url, server.key) as line:
        await line.configure(instructions="You are a friendly person. Answer in one short sentence.")
        await asyncio.sleep(1.0)
        warm = server.memory_mib()
        for number in range(turns):
            for extra in range(number * contexts // turns, (number + 1) * contexts // turns):
                event = {"event": "screen", "type": "showtext", "text": f"This is screen {number}, note {extra}."}
                part = {"type": "input_text", "text": f"[context] {json.dumps(event)}"}
                await line.send(
                    type="conversation.item.create", item={"type": "message", "role": "user", "content": [part]}
                )
            start = len(line.events)
            await line.say(spoken(QUESTIONS[number % len(QUESTIONS)]))
            _, done = await line.wait("response.done", start, timeout_s=90)
            assert done["response"]["status"] == "completed", done
            if number == min(10, turns - 1):
                warm = server.memory_mib()
            if number % 10 == 9:
                rows.append(
                    f"turn {number + 1}: {server.memory_mib():.0f} MiB, {server.threads()} threads, {server.files()} files"
                )
            assert not line.of("error"), line.of("error")
            line.forget()
        grown = server.memory_mib() - warm
        rows.append(f"long call: {turns} turns, {contexts} context items; grown by {grown:.0f} MiB after warm-up")
        assert grown < GROWTH_MIB, rows
    return rows


async def short_calls(server: Server, count: int) -> list[str]:
    """Calls one after another, each with a word of its own that no other may say."""
    rows, warm, files, threads = Rows(), 0.0, 0, 0
    chooser = random.Random(1)
    before = ""
    for number in range(count):
        word = chooser.choice([word for word in SECRETS if word != before])
        async with open_line(server.url, server.key) as line:
            await line.configure(instructions=f"The secret word is {word}. Answer in one short sentence.")
            question = {"type": "input_text", "text": "What is the secret word?"}
            await line.send(
                type="conversation.item.create", item={"type": "message", "role": "user", "content": [question]}
            )
            await line.send(type="response.create")
            await line.wait("response.done", timeout_s=60)
            said = line.said().lower()
            others = [other for other in SECRETS if other != word and other in said]
            assert not others, f"call {number} was told {word} and said {said!r}"
        before = word
        if number == min(20, count - 1):
            await asyncio.sleep(1.0)
            warm, files, threads = server.memory_mib(), server.files(), server.threads()
        if number % 50 == 49:
            rows.append(
                f"call {number + 1}: {server.memory_mib():.0f} MiB, {server.threads()} threads, {server.files()} files"
            )
    await asyncio.sleep(2.0)
    rows.append(
        f"short calls: {count}; grown by {server.memory_mib() - warm:.0f} MiB, {server.files() - files} files and "
        f"{server.threads() - threads} threads after warm-up; no word of one call in another"
    )
    assert server.memory_mib() - warm < GROWTH_MIB, rows
    assert server.files() <= files + 2, rows
    assert server.threads() <= threads + 2, rows
    return rows


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.soak")
    options.add_argument("--turns", type=int, default=60)
    options.add_argument("--contexts", type=int, default=100)
    options.add_argument("--calls", type=int, default=200)
    options.add_argument("--mind", default="embedded:0.5b")
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    start = time.monotonic()
    rows = [f"Mind {chosen.mind}; {machine()}; {datetime.datetime.now(datetime.UTC):%Y-%m-%d}."]
    with serve(chosen.mind) as server:
        rows += asyncio.run(long_call(server, chosen.turns, chosen.contexts))
        rows += asyncio.run(short_calls(server, chosen.calls))
        problems = [row for row in server.log.read_text().splitlines() if "error" in row.lower() or "Traceback" in row]
        assert not problems, problems[:10]
    rows.append(f"took {time.monotonic() - start:.0f} s")
    text = "\n".join(f"* {row}" for row in rows)
    if chosen.report:
        chosen.report.write_text(f"# Soak\n\n{text}\n")


if __name__ == "__main__":
    main()
