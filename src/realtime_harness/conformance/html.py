"""A report as one page that needs nothing else: the matrix, and for every result what happened when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from realtime_harness.conformance.report import Report, Result

WIDTH, LEFT = 940, 90
LANES = (("spoken", "we said"), ("sent", "sent"), ("came", "came"), ("heard", "it said"))
LANE_HEIGHT = 26
TICKS = 8
QUIET = frozenset(
    {"response.output_audio.delta", "response.output_audio_transcript.delta", "response.output_text.delta"}
)
STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --other: #9a6700; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 980px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
.passed { color: var(--good); } .failed { color: var(--bad); } .unsupported { color: var(--other); } b { font-weight: 600; }
code { font: 13px ui-monospace, monospace; } .dim { opacity: .7; } svg { width: 100%; height: auto; }
details { margin: .3rem 0; } pre { max-height: 22rem; overflow: auto; background: var(--soft); padding: .6rem; font-size: 12px; }
.fault { border-left: 3px solid var(--bad); padding: .1rem .7rem; margin: .4rem 0; }
"""


def to_html(report: Report) -> str:
    """The page. Nothing in it is loaded from elsewhere; what an engine sent is only ever text in it."""
    counts = ", ".join(f"{report.count(status)} {status}" for status in ("passed", "failed", "unsupported"))
    checks = list(dict.fromkeys(result.check for result in report.results))
    rows = "".join(_row(check, [each for each in report.results if each.check == check]) for check in checks)
    extras = "".join(
        f"<tr><td>{escape(name)}</td><td><code>{escape(_plain(value))}</code></td></tr>"
        for name, value in report.extras.items()
    )
    title = f"{report.suite} conformance of {report.model or 'an engine'}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{escape(counts)} of {len(report.results)}.</p>"
        f'<p class="dim">{escape(report.target)}; {escape(report.began)}; suite version {report.suite_version}, '
        f"spec version {escape(report.spec_version)}{'; strict' if report.strict else ''}.</p>"
        f"<table><tr><th>check<th>result<th>first fault</tr>{rows}</table>"
        f"<h2>Measured beside the results</h2><table>{extras}</table>"
        f"{''.join(_result(result) for result in report.results)}</html>"
    )


def _row(check: str, results: Sequence[Result]) -> str:
    cells = "<br>".join(
        f'<a href="#{_anchor(each)}" class="{each.status}">{each.status}</a> {escape(each.turn_detection or "")}'
        + (" <b>(spoilt)</b>" if each.spoilt else "")
        for each in results
    )
    firsts = "<br>".join(escape(str(each.faults[0])) if each.faults else "" for each in results)
    return f"<tr><td><code>{escape(check)}</code></td><td>{cells}</td><td>{firsts}</td></tr>"


def _anchor(result: Result) -> str:
    return f"{result.check}-{result.turn_detection or 'once'}"


def _result(result: Result) -> str:
    faults = "".join(
        f'<div class="fault"><code>{escape(fault.rule)}</code>{_when(fault.at_ms)}<br>expected {escape(fault.expected)}'
        f"<br>{escape(fault.seen)}</div>"
        for fault in result.faults
    )
    facts = "; ".join(
        [f"{name}: {value} ms" for name, value in result.timings_ms.items()]
        + [f"{name}: {value}" for name, value in result.grades.items()]
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in (*result.notes, *([result.spoilt] if result.spoilt else [])))
    return (
        f'<h2 id="{_anchor(result)}"><span class="{result.status}">{result.status}</span> {escape(result.name)}</h2>'
        f'<p class="dim">{escape(result.description)} Took {result.took_ms / 1000:.1f} s.</p>{faults}{notes}'
        f"<p>{escape(facts)}</p>{_timeline(result)}{_log(result)}"
    )


def _when(at_ms: int | None) -> str:
    return "" if at_ms is None else f' <span class="dim">at {at_ms} ms</span>'


def _timeline(result: Result) -> str:
    """Audio in, events, audio out, on one axis of milliseconds."""
    events: Sequence[Mapping[str, Any]] = result.evidence.get("events", ())
    if not events:
        return ""
    spans = {lane: result.evidence.get(lane, ()) for lane in ("spoken", "heard")}
    end = max([each["atMs"] for each in events] + [span["end_ms"] for lane in spans.values() for span in lane] + [1])

    def x(ms: float) -> float:
        return LEFT + max(0.0, ms) / end * (WIDTH - LEFT - 10)

    parts: list[str] = []
    for number, (lane, label) in enumerate(LANES):
        y = number * LANE_HEIGHT + 6
        parts.append(f'<text x="0" y="{y + 13}" font-size="12" fill="currentColor">{label}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y + 18}" y2="{y + 18}" stroke="#8886"/>')
        if lane in spans:
            parts += [
                f'<rect x="{x(span["start_ms"]):.1f}" y="{y + 3}" width="{max(1.0, x(span["end_ms"]) - x(span["start_ms"])):.1f}" '
                f'height="14" fill="{"#2f81f7" if lane == "spoken" else "#8957e5"}" opacity=".75">'
                f"<title>{escape(str(span['what']))}: {span['start_ms']} to {span['end_ms']} ms</title></rect>"
                for span in spans[lane]
            ]
        else:
            parts += [
                f'<line x1="{x(each["atMs"]):.1f}" x2="{x(each["atMs"]):.1f}" y1="{y + 4}" y2="{y + 18}" '
                f'stroke="{_colour(each)}" stroke-width="{1 if _type(each) in QUIET else 2}">'
                f"<title>{escape(_type(each))} at {each['atMs']} ms</title></line>"
                for each in events
                if each["way"] == lane
            ]
    base = len(LANES) * LANE_HEIGHT + 6
    for number in range(TICKS + 1):
        ms = round(end * number / TICKS)
        parts.append(
            f'<text x="{x(ms):.1f}" y="{base + 12}" font-size="11" text-anchor="middle" fill="currentColor">{ms}</text>'
        )
    for fault in result.faults:
        if fault.at_ms is not None:
            parts.append(
                f'<line x1="{x(fault.at_ms):.1f}" x2="{x(fault.at_ms):.1f}" y1="0" y2="{base}" stroke="#cf222e" '
                f'stroke-dasharray="3 3"><title>{escape(fault.rule)}</title></line>'
            )
    picture = f"what was said and heard in {result.name}, in milliseconds"
    return f'<svg viewBox="0 0 {WIDTH} {base + 18}" role="img" aria-label="{escape(picture)}">{"".join(parts)}</svg>'


def _type(line: Mapping[str, Any]) -> str:
    return str(line["event"].get("type", "no event"))


def _colour(line: Mapping[str, Any]) -> str:
    kind = _type(line)
    if kind == "error":
        return "#cf222e"
    return "#8888" if kind in QUIET else "#1a7f37" if line["way"] == "came" else "#bc4c00"


def _log(result: Result) -> str:
    lines = [
        f"{each['atMs']:>7} ms  {each['way']:<4}  {_plain(each['event'])}"
        for each in result.evidence.get("events", ())
        if _type(each) not in QUIET
    ]
    lines += [
        f"{each['asked']}  {each['body']}\n    {each['came']}  ({each['tookMs']} ms)"
        for each in result.evidence.get("requests", ())
    ]
    if not lines:
        return ""
    return f"<details><summary>{len(lines)} {'events' if result.evidence.get('events') else 'requests'}</summary><pre>{escape(chr(10).join(lines))}</pre></details>"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    return str(value)
