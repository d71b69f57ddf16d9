"""The rules by which a change of agent-spec.json breaks an adapter, or does not. Source: agent-spec 0.2.0 throughout.

An adapter breaks where the platform now needs more of it, takes less from it, or sends it what it was not told of. What
no rule knows is said to break: a change that is wrongly feared costs a look, one that is missed costs a study.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Event = Literal["added", "removed", "changed", "raised", "lowered", "widened", "off"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What follows for an adapter where one of `when` happens at a path that `where` fits."""

    where: re.Pattern[str]
    when: frozenset[str]
    breaks: bool
    why: str


UNKNOWN = Rule(re.compile(""), frozenset(), breaks=True, why="no rule says that this is harmless")


def rule_for(path: str, events: frozenset[Event]) -> Rule:
    """The first rule that fits; UNKNOWN where none does. Steps of `path` are joined by a slash and contain none."""
    return next((rule for rule in _RULES if rule.where.fullmatch(path) and rule.when & events), UNKNOWN)


def _breaks(where: str, when: str, why: str) -> Rule:
    return Rule(re.compile(where), frozenset(when.split()), breaks=True, why=why)


def _fine(where: str, when: str, why: str) -> Rule:
    return Rule(re.compile(where), frozenset(when.split()), breaks=False, why=why)


_ANY = "added removed changed"
_SCHEMA = (
    r"(?:answers/[^/]+/valueSchema|modelEndpoint/tools/[^/]+/function/parameters|voiceEngine/tools/[^/]+/parameters)"
)
_INSIDE = _SCHEMA + r"(?:/.*)?"
_EXAMPLE = r"voiceEngine/clientEvents/[^/]+/example/(?:.*/)?"
_TIMES = r"modelEndpoint/(?:requestTimeoutMs/.*|connectionTest/[^/]+/timeoutMs)"

_ANSWERS = (
    _fine(r"answers/[^/]+", "added", "one kind of question more; it comes with its schema"),
    _fine(r"answers/[^/]+", "removed", "this question is no longer asked"),
    _fine(r"answerableComponents/.*", _ANY, "which questions a study may ask; each comes with its schema"),
    _fine(r"answers/[^/]+/shownOn", "changed", "where a question may be asked"),
    _fine(r"answers/[^/]+/exampleConfig(?:/.*)?", _ANY, "an example"),
    _fine(r"(?:voiceEngine|modelEndpoint)/tools/[^/]+", "added", "one tool more; nothing obliges to call it"),
    _breaks(r"(?:voiceEngine|modelEndpoint)/tools/[^/]+", "removed", "a call of it is now refused"),
    _breaks(_INSIDE + r"/required/[^/]+", "added", "an answer without it is now refused"),
    _fine(_INSIDE + r"/required/[^/]+", "removed", "it may now be left out"),
    _fine(_INSIDE + r"/properties/[^/]+", "added", "it may be given"),
    _breaks(_INSIDE + r"/properties/[^/]+", "removed", "an answer with it is now refused"),
    _breaks(_INSIDE + r"/(?:minimum|minLength)", "raised added", "answers below the new bound are now refused"),
    _fine(_INSIDE + r"/(?:minimum|minLength)", "lowered removed", "more answers are taken"),
    _breaks(_INSIDE + r"/(?:maximum|maxLength)", "lowered added", "answers above the new bound are now refused"),
    _fine(_INSIDE + r"/(?:maximum|maxLength)", "raised removed", "more answers are taken"),
    _fine(_INSIDE + r"/type", "widened", "every integer is a number"),
)
_WORDS = (
    _fine(r"specVersion|status", _ANY, "the document's own name"),
    _fine(r"(?:.*/)?description", _ANY, "words that explain a rule; the rule is not here"),
    _breaks(r"(?:.*/)?(?:purpose|passes|toolsNote|basis)", _ANY, "the rule is in these words: read them"),
)
_VOICE = (
    _breaks(r"voiceEngine/serverEvents/required/.*", "added", "an event without it now ends the session"),
    _fine(r"voiceEngine/serverEvents/required/.*", "removed", "no longer needed, and still taken"),
    _fine(r"voiceEngine/serverEvents/ignored/.*", _ANY, "no event that is not acted on ends a session"),
    _breaks(r"voiceEngine/audio/maxAudioDeltaMs", "lowered", "a longer audio delta now ends the session"),
    _fine(r"voiceEngine/audio/maxAudioDeltaMs", "raised removed", "longer audio deltas are taken"),
    _fine(
        _EXAMPLE + r"(?:instructions|text|audio|image_url|call_id|item_id|response_id|audio_end_ms|voice|speed"
        r"|silence_duration_ms|eagerness)",
        "changed",
        "the value of an example",
    ),
    _breaks(r"voiceEngine/clientEvents/.*", "added", "the platform now sends what the adapter was not told of"),
    _breaks(r"voiceEngine/clientEvents/.*", "removed", "the platform no longer sends what the adapter may wait for"),
    _fine(r"voiceEngine/contextItems/.*", "added", "more is told; a context item asks for nothing"),
    _breaks(r"voiceEngine/contextItems/.*", "removed changed", "an adapter that reads it no longer finds it so"),
    _breaks(r"voiceEngine/(?:questionRequest|functionOutputs)/.*", _ANY, "how questions are put, and answers taken"),
    _fine(r"voiceEngine/connection/headers/.*", "added", "one header more"),
    _fine(r"voiceEngine/supportedProviders/.*", "added", "more engines are accepted"),
    _breaks(r"voiceEngine/supportedProviders/.*", "removed", "engines of this provider are no longer accepted"),
)
_ENDPOINT = (
    _breaks(_TIMES, "lowered", "there is now less time to answer"),
    _fine(_TIMES, "raised removed", "there is more time to answer"),
    _fine(r"modelEndpoint/retries", "raised", "more is forgiven"),
    _breaks(r"modelEndpoint/(?:connectionTest|requests)/.*", "added", "the endpoint must answer more requests"),
    _fine(r"modelEndpoint/(?:connectionTest|requests)/.*", "removed", "no longer asked for"),
)
_SUITE = (
    _breaks(r"conformance/suiteVersion", "changed", "a stored report no longer counts: run the suite again"),
    _breaks(r"conformance/thresholds/noReplyWindowMs", "raised", "silence is now watched for longer"),
    _fine(r"conformance/thresholds/noReplyWindowMs", "lowered removed", "silence is watched for less long"),
    _breaks(r"conformance/thresholds/.*", "lowered added", "the engine now has less time"),
    _fine(r"conformance/thresholds/.*", "raised removed", "the engine has more time"),
    _fine(r"conformance/checks/[^/]+/perTurnDetection", "off", "the check is run under fewer settings"),
    _breaks(r"conformance/checks/[^/]+/perTurnDetection", "changed", "the check is now run under more settings"),
    _breaks(r"conformance/(?:checks|turnDetections)/.*", "added", "the engine must pass more"),
    _fine(r"conformance/(?:checks|turnDetections)/.*", "removed", "no longer checked"),
)
_RULES = (*_ANSWERS, *_WORDS, *_VOICE, *_ENDPOINT, *_SUITE)
