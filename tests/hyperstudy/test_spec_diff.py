"""Which changes of the contract break an adapter."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.hyperstudy.spec import document, strip_placeholders
from realtime_harness.hyperstudy.spec_diff import Change, diff

Edit = Callable[[dict[str, Any]], object]


def after(edit: Edit) -> tuple[Change, ...]:
    changed = deepcopy(document())
    edit(changed)
    return diff(document(), changed)


def only(edit: Edit) -> Change:
    changes = after(edit)
    assert len(changes) == 1, changes
    return changes[0]


def voice(spec: dict[str, Any]) -> dict[str, Any]:
    return spec["voiceEngine"]


def required(spec: dict[str, Any]) -> dict[str, list[str]]:
    return voice(spec)["serverEvents"]["required"]


def suite(spec: dict[str, Any]) -> dict[str, Any]:
    return spec["conformance"]


def endpoint(spec: dict[str, Any]) -> dict[str, Any]:
    return spec["modelEndpoint"]


def likert(spec: dict[str, Any]) -> dict[str, Any]:
    return spec["answers"][2]["valueSchema"]


NEW_TOOL = {"name": "answer_drawing", "description": "Draw.", "parameters": {"type": "object", "required": ["svg"]}}
NEW_CHECK = {"id": "echo", "description": "No echo.", "perTurnDetection": True}

BREAKING: list[tuple[str, Edit]] = [
    ("voiceEngine/serverEvents/required/response.done/usage", lambda s: required(s)["response.done"].append("usage")),
    ("voiceEngine/serverEvents/required/session.ended", lambda s: required(s).update({"session.ended": ["reason"]})),
    ("voiceEngine/audio/maxAudioDeltaMs", lambda s: voice(s)["audio"].update(maxAudioDeltaMs=500)),
    ("voiceEngine/audio/sampleRateHz", lambda s: voice(s)["audio"].update(sampleRateHz=48_000)),
    ("voiceEngine/clientEvents/session.end", lambda s: voice(s)["clientEvents"].append({"type": "session.end"})),
    ("voiceEngine/clientEvents/response.cancel", lambda s: voice(s)["clientEvents"].pop()),
    ("voiceEngine/clientEvents/session.update #3", lambda s: voice(s)["clientEvents"].pop(2)),
    ("voiceEngine/clientEvents/response.cancel/purpose", lambda s: voice(s)["clientEvents"][10].update(purpose="Go.")),
    (
        "voiceEngine/clientEvents/conversation.item.truncate/example/reason",
        lambda s: voice(s)["clientEvents"][8]["example"].update(reason="barge_in"),
    ),
    (
        "voiceEngine/contextItems/timer/secondsLeft",
        lambda s: voice(s)["contextItems"].__setitem__(5, ctx("event", "timer")),
    ),
    ("voiceEngine/contextItems/resumed", lambda s: voice(s)["contextItems"].pop()),
    ("voiceEngine/tools/answer_text", lambda s: voice(s)["tools"].pop(5)),
    (
        "voiceEngine/tools/answer_scale/parameters/properties/value/type",
        lambda s: voice(s)["tools"][3]["parameters"]["properties"]["value"].update(type="integer"),
    ),
    (
        "voiceEngine/tools/answer_scale/parameters/required/sure",
        lambda s: voice(s)["tools"][3]["parameters"]["required"].append("sure"),
    ),
    (
        "voiceEngine/questionRequest/response/output_modalities/audio",
        lambda s: voice(s)["questionRequest"]["response"]["output_modalities"].append("audio"),
    ),
    ("voiceEngine/supportedProviders/openai", lambda s: voice(s).update(supportedProviders=[])),
    ("answers/likertscale answer_scale/valueSchema/maximum", lambda s: likert(s).update(maximum=5)),
    ("answers/likertscale answer_scale/valueSchema/minimum", lambda s: likert(s).update(minimum=2)),
    ("answers/likertscale answer_scale/valueSchema/enum", lambda s: likert(s).update(enum=[1])),
    ("modelEndpoint/toolChoice", lambda s: endpoint(s).update(toolChoice="required")),
    ("modelEndpoint/requestTimeoutMs/default", lambda s: endpoint(s)["requestTimeoutMs"].update(default=30_000)),
    (
        "modelEndpoint/connectionTest/GET {baseUrl}/models/timeoutMs",
        lambda s: endpoint(s)["connectionTest"][0].update(timeoutMs=5_000),
    ),
    (
        "modelEndpoint/connectionTest/GET {baseUrl}/models/passes",
        lambda s: endpoint(s)["connectionTest"][0].update(passes="A 200."),
    ),
    ("modelEndpoint/requests/GET {baseUrl}/props", lambda s: endpoint(s)["requests"].append("GET {baseUrl}/props")),
    ("conformance/suiteVersion", lambda s: suite(s).update(suiteVersion=7)),
    ("conformance/thresholds/maxOnsetDelayMs", lambda s: suite(s)["thresholds"].update(maxOnsetDelayMs=500)),
    ("conformance/thresholds/noReplyWindowMs", lambda s: suite(s)["thresholds"].update(noReplyWindowMs=3_000)),
    ("conformance/checks/echo", lambda s: suite(s)["checks"].append(NEW_CHECK)),
    ("conformance/checks/cancel/perTurnDetection", lambda s: suite(s)["checks"][5].update(perTurnDetection=True)),
    ("conformance/turnDetections/none", lambda s: suite(s)["turnDetections"].append({"type": "none"})),
    ("voiceEngine", lambda s: s.pop("voiceEngine")),
    ("something", lambda s: s.update(something="new")),
]
HARMLESS: list[tuple[str, Edit]] = [
    ("specVersion", lambda s: s.update(specVersion="0.3.0")),
    ("status", lambda s: s.update(status="stable")),
    ("voiceEngine/serverEvents/required/response.done/response", lambda s: required(s)["response.done"].clear()),
    ("voiceEngine/serverEvents/required/error", lambda s: required(s).pop("error")),
    ("voiceEngine/serverEvents/ignored/a.b", lambda s: voice(s)["serverEvents"]["ignored"].append("a.b")),
    ("voiceEngine/audio/maxAudioDeltaMs", lambda s: voice(s)["audio"].update(maxAudioDeltaMs=4_000)),
    (
        "voiceEngine/clientEvents/conversation.item.truncate/example/audio_end_ms",
        lambda s: voice(s)["clientEvents"][8]["example"].update(audio_end_ms=1),
    ),
    ("voiceEngine/contextItems/left", lambda s: voice(s)["contextItems"].append(ctx("event", "left"))),
    ("voiceEngine/tools/answer_drawing", lambda s: voice(s)["tools"].append(NEW_TOOL)),
    ("voiceEngine/tools/send_chat/description", lambda s: voice(s)["tools"][0].update(description="Say.")),
    ("answers/likertscale answer_scale/valueSchema/maximum", lambda s: likert(s).update(maximum=9)),
    ("answers/likertscale answer_scale/valueSchema/minimum", lambda s: likert(s).update(minimum=0)),
    ("answers/likertscale answer_scale/valueSchema/type", lambda s: likert(s).update(type="number")),
    ("answers/audiorecording answer_text", lambda s: s["answers"].pop()),
    ("modelEndpoint/requestTimeoutMs/max", lambda s: endpoint(s)["requestTimeoutMs"].update(max=600_000)),
    ("modelEndpoint/retries", lambda s: endpoint(s).update(retries=2)),
    ("conformance/thresholds/noReplyWindowMs", lambda s: suite(s)["thresholds"].update(noReplyWindowMs=500)),
    ("conformance/thresholds/eventTimeoutMs", lambda s: suite(s)["thresholds"].update(eventTimeoutMs=30_000)),
    ("conformance/checks/barge_in", lambda s: suite(s)["checks"].pop(2)),
    ("conformance/checks/barge_in/perTurnDetection", lambda s: suite(s)["checks"][2].update(perTurnDetection=False)),
]


def ctx(key: str, value: str) -> str:
    return f'[context] {{"{key}":"{value}"}}'


@pytest.mark.parametrize(("path", "edit"), BREAKING, ids=[path for path, _ in BREAKING])
def test_this_breaks_an_adapter(path: str, edit: Edit) -> None:
    change = only(edit)
    assert (change.path, change.breaks) == (path, True), change.why


@pytest.mark.parametrize(("path", "edit"), HARMLESS, ids=[path for path, _ in HARMLESS])
def test_this_does_not(path: str, edit: Edit) -> None:
    change = only(edit)
    assert (change.path, change.breaks) == (path, False), change.why


def test_what_no_rule_knows_is_said_to_break() -> None:
    assert only(lambda s: s.update(something="new")).why == "no rule says that this is harmless"


def test_placeholders_and_the_order_of_lists_and_fields_do_not_count() -> None:
    def turn_around(spec: dict[str, Any]) -> None:
        for entries in (voice(spec)["tools"], voice(spec)["contextItems"], suite(spec)["checks"], spec["answers"]):
            entries.reverse()
        spec["conformance"] = dict(reversed(suite(spec).items()))

    assert after(turn_around) == ()
    assert diff(document(), strip_placeholders(document())) == ()
    assert after(lambda s: voice(s)["contextItems"].__setitem__(5, '[context] {"event":"timer","secondsLeft":9}')) == ()


def test_a_change_names_both_values_and_reads_backwards_too() -> None:
    edit: Edit = lambda s: likert(s).update(maximum=5)  # noqa: E731
    forth = only(edit)
    assert (forth.kind, forth.before, forth.after) == ("changed", 7, 5)
    narrowed = deepcopy(document())
    edit(narrowed)
    (back,) = diff(narrowed, document())
    assert (back.before, back.after, back.breaks) == (5, 7, False)


@pytest.mark.parametrize(("path", "edit"), [*BREAKING, *HARMLESS], ids=[path for path, _ in [*BREAKING, *HARMLESS]])
def test_every_change_is_seen_from_the_other_side(path: str, edit: Edit) -> None:
    changed = deepcopy(document())
    edit(changed)
    assert [change.path for change in diff(changed, document())] == [path]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["answers", "modelEndpoint", "voiceEngine", "conformance"]), JSON_VALUES)
def test_whatever_stands_in_a_document_it_can_be_compared(part: str, value: Any) -> None:
    changed = {**document(), part: value}
    assert diff(changed, changed) == ()
    assert diff(document(), changed)


def test_true_is_not_the_number_one() -> None:
    assert only(lambda s: likert(s).update(minimum=True)).breaks
