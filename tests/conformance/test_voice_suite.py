"""The suite passes a correct engine, fails each broken one in the check that names its rule, and tells all of it."""

from __future__ import annotations

import pytest

from realtime_harness.conformance.broken.defects import DEFECTS, Defect
from realtime_harness.conformance.broken.engine import ScriptedEngine
from realtime_harness.conformance.report import Report
from realtime_harness.errors import ConfigError
from realtime_harness.hyperstudy.contract import CHECKS
from tests.conformance.line import check_virtually

SECRETS = ("sk-secret", "Authorization", "Bearer")


def faults_of(report: Report) -> set[str]:
    return {fault.rule for result in report.results for fault in result.faults}


def test_a_correct_engine_passes_all_fifteen_strictly() -> None:
    report = check_virtually(ScriptedEngine, strict=True)

    assert [result.name for result in report.results if result.status != "passed"] == []
    assert len(report.results) == 15
    assert {result.check for result in report.results} == {check.id for check in CHECKS}
    assert report.passed()
    assert report.model == "scripted"


def test_sessions_side_by_side_come_to_the_same() -> None:
    report = check_virtually(ScriptedEngine, at_once=15)

    assert report.passed()
    assert len(report.results) == 15


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_broken_engine_fails_in_the_check_that_names_its_rule(defect: Defect) -> None:
    report = check_virtually(defect.engine, only=(defect.check,), strict=defect.strict, extras=False)

    assert defect.rule in faults_of(report), [str(fault) for result in report.results for fault in result.faults]
    assert any(result.status == "failed" for result in report.results)


def test_there_are_many_defects_each_of_its_own_name() -> None:
    names = [defect.name for defect in DEFECTS]

    assert len(set(names)) == len(names) >= 100
    assert {defect.check for defect in DEFECTS} == {check.id for check in CHECKS}
    assert all(defect.says for defect in DEFECTS)


@pytest.mark.parametrize("defect", [each for each in DEFECTS if each.strict], ids=lambda defect: defect.name)
def test_a_bad_truncate_is_only_a_grade_where_grades_are_not_strict(defect: Defect) -> None:
    report = check_virtually(defect.engine, only=("barge_in",), extras=False)

    assert report.passed()
    assert all(result.grades["truncate"] in ("none", "error", "differs") for result in report.results)


def test_an_engine_that_never_opens_is_waited_for_once() -> None:
    silent = next(each for each in DEFECTS if each.name == "never_opens")

    report = check_virtually(silent.engine)

    assert report.count("failed") == 15
    assert sum(result.took_ms for result in report.results) < 16_000
    assert "not run" in report.results[-1].faults[0].seen


class FullAtFirst(ScriptedEngine):
    """Turns two sessions away in the WebSocket before it has room, as some servers do."""

    turned_away = 0

    async def created(self) -> None:
        if FullAtFirst.turned_away < 2:
            FullAtFirst.turned_away += 1
            await self.error("session_limit", "No room.")
            await self.transport.close()
        else:
            await super().created()


def test_an_engine_without_room_is_asked_again_for_a_while() -> None:
    assert check_virtually(FullAtFirst, only=("handshake",), extras=False).passed()
    assert FullAtFirst.turned_away == 2


class NoPictures(ScriptedEngine):
    """Declares that it takes no images."""

    def new_session(self) -> dict:
        return {**super().new_session(), "unsupported": ["input_image"]}


def test_what_an_engine_declares_that_it_lacks_is_unsupported() -> None:
    report = check_virtually(NoPictures, only=("image_context", "silent_tool"), extras=False)

    assert [result.status for result in report.results] == ["passed", "unsupported"]
    assert not report.passed()
    assert report.passed(allow_unsupported=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"only": ("barge-in",)}, "no check 'barge-in'"), ({"turn_detection": "none"}, "no turn detection 'none'")],
)
def test_an_unknown_choice_names_what_there_is(options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_virtually(ScriptedEngine, **options)


def test_one_turn_detection_alone() -> None:
    report = check_virtually(ScriptedEngine, turn_detection="semantic_vad", extras=False)

    assert len(report.results) == 10
    assert {result.turn_detection for result in report.results} == {None, "semantic_vad"}


def test_an_engine_that_is_late_is_told_by_its_timings() -> None:
    class Slow(ScriptedEngine):
        THINKING_S = 2.0

    report = check_virtually(Slow, only=("engine_turn",), turn_detection="server_vad", extras=False)

    (result,) = report.results
    assert result.timings_ms["speech_stopped to first audio"] == 2_000
    assert 2_400 <= result.timings_ms["end of speech to first audio"] <= 2_600
    assert result.grades["onset position (engine_turn)"].startswith("+0 ms")


def test_a_backchannel_is_measured_beside_the_results() -> None:
    report = check_virtually(ScriptedEngine, only=("handshake",), extras=True)

    assert report.extras["backchannel"] == {"outcome": "stopped", "heardAsSpeech": True, "said": "Mm-hm."}
