"""Reports: stable JSON, one page that needs nothing else, and neither audio nor secrets in them."""

from __future__ import annotations

from html.parser import HTMLParser

import orjson
import pytest

from realtime_harness.conformance.broken.defects import DEFECTS
from realtime_harness.conformance.broken.engine import ScriptedEngine
from realtime_harness.conformance.html import to_html
from realtime_harness.conformance.report import Report, to_json
from realtime_harness.conformance.targets import public_target
from tests.conformance.line import check_virtually


@pytest.fixture(scope="module")
def report() -> Report:
    broken = next(each for each in DEFECTS if each.name == "late_deltas")
    return check_virtually(broken.engine, only=("handshake", "engine_turn", "barge_in"), extras=False)


def test_the_json_is_whole_and_says_what_was_judged_by_what(report: Report) -> None:
    value = orjson.loads(to_json(report))

    assert value["reportVersion"] == 1
    assert (value["suite"], value["suiteVersion"], value["specVersion"]) == ("voice", 6, "0.2.0")
    assert value["thresholds"]["max_onset_delay_ms"] == 1_000
    assert value["counts"] == {"passed": 3, "failed": 2, "unsupported": 0}
    failed = next(each for each in value["results"] if each["status"] == "failed")
    assert {"rule", "expected", "seen", "at_ms"} == set(failed["faults"][0])
    assert failed["evidence"]["events"][0]["event"]["type"] == "session.created"
    assert failed["evidence"]["spoken"][0]["what"] == "interruption"


def test_audio_stays_out_of_a_report(report: Report) -> None:
    text = to_json(report).decode()

    assert "<" in text
    assert max(len(word) for word in text.split('"')) < 2_100
    assert len(text) < 600_000


def test_the_page_needs_nothing_else_and_shows_every_result(report: Report) -> None:
    page = to_html(report)
    found: list[tuple[str, dict]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list) -> None:
            found.append((tag, dict(attrs)))

    Reader().feed(page)

    assert not [attrs for _, attrs in found if "src" in attrs or str(attrs.get("href", "#"))[0] != "#"]
    assert sum(tag == "svg" for tag, _ in found) == len(report.results)
    anchors = {attrs["href"][1:] for tag, attrs in found if tag == "a"}
    assert anchors == {attrs["id"] for tag, attrs in found if tag == "h2" and "id" in attrs}
    assert "platform.after_done" in page


class Nasty(ScriptedEngine):
    """Says HTML wherever it may."""

    NASTY = "<script>alert(1)</script>"

    async def updated(self) -> None:
        await self.error(self.NASTY, self.NASTY)
        await super().updated()


def test_what_an_engine_says_is_only_text_in_the_page() -> None:
    page = to_html(check_virtually(Nasty, only=("handshake",), extras=False))

    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_targets_secrets_stay_out() -> None:
    assert public_target("wss://user:pass@host.example:8443/v1/realtime?api-key=secret#k") == (
        "wss://host.example:8443/v1/realtime"
    )
