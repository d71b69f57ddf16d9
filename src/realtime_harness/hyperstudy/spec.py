"""agent-spec.json: the document that is generated from this room's code, and every version of it that was published."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from importlib import resources
from typing import Any, cast

from realtime_harness.errors import ConfigError
from realtime_harness.hyperstudy import answers, context, contract
from realtime_harness.hyperstudy.client_events import audio_format, client_events, silent_answer
from realtime_harness.hyperstudy.endpoint import model_endpoint
from realtime_harness.hyperstudy.validate import Accepted, Refusal
from realtime_harness.realtime.pcm import RATE_HZ
from realtime_harness.realtime.wire import Json

LATEST = "latest"
CHANGELOG = "CHANGELOG.md"
_PUBLISHED = resources.files("realtime_harness.hyperstudy") / "versions"
_PLACEHOLDER = re.compile(r"<[^<>\n]+>")


def document() -> Json:
    """agent-spec.json of SPEC_VERSION, with its `<placeholders>`; its keys in the order in which they are published."""
    return {
        "specVersion": contract.SPEC_VERSION,
        "status": "draft",
        "answerableComponents": {
            "screen": list(answers.ON_SCREEN),
            "ratingPause": list(answers.ON_RATING_PAUSE),
        },
        "answers": [example.as_listed() for example in answers.EXAMPLES],
        "modelEndpoint": model_endpoint(),
        "voiceEngine": _voice_engine(),
        "conformance": _conformance(),
    }


def to_text(spec: Json) -> str:
    """As it is published: indented, in UTF-8 letters, with a newline at its end."""
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"


def strip_placeholders(value: Any) -> Any:
    """A copy without the `<placeholders>` in its strings: what two copies are compared by."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub("", value)
    if isinstance(value, list):
        return [strip_placeholders(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: strip_placeholders(entry) for key, entry in cast("Json", value).items()}
    return value


def versions() -> tuple[str, ...]:
    """The published versions, oldest first."""
    names = [file.name.removesuffix(".json") for file in _PUBLISHED.iterdir() if file.name.endswith(".json")]
    return tuple(sorted(names, key=lambda name: [int(part) for part in name.split(".")]))


def published(version: str) -> str:
    """agent-spec.json of `version` or of `latest`, as it was published. Raises ConfigError that names those there are."""
    known = versions()
    name = known[-1] if version == LATEST else version
    if name not in known:
        raise ConfigError(f"There is no agent-spec {version[:60]!r}; expected {LATEST} or one of: {', '.join(known)}.")
    return (_PUBLISHED / f"{name}.json").read_text("utf-8")


def changelog() -> str:
    """What changed from version to version, in Markdown."""
    return (_PUBLISHED / CHANGELOG).read_text("utf-8")


def _voice_engine() -> Json:
    return {
        "profile": "HyperStudy Realtime Profile (HRP)",
        "basis": "A pinned subset of the OpenAI Realtime API (GA), over WebSocket.",
        "supportedProviders": list(contract.SUPPORTED_PROVIDERS),
        "connection": {
            "url": "wss://api.openai.com/v1/realtime?model=gpt-realtime-2.1",
            "headers": {"Authorization": "Bearer <api key>", "OpenAI-Safety-Identifier": "hs-<opaque id>"},
        },
        "audio": {
            "encoding": "PCM16, little-endian, mono",
            "sampleRateHz": RATE_HZ,
            "formatField": audio_format(),
            "maxAudioDeltaMs": contract.MAX_AUDIO_DELTA_MS,
        },
        "clientEvents": client_events(),
        "serverEvents": {
            "required": {event: list(fields) for event, fields in contract.REQUIRED_FIELDS.items()},
            "ignored": list(contract.IGNORED_EVENTS),
        },
        "contextItems": [context.to_text(item) for item in context.EXAMPLES],
        "tools": [tool.as_catalogued() for tool in contract.TOOLS],
        "questionRequest": silent_answer("answer_scale"),
        "functionOutputs": {
            "accepted": Accepted(None).as_output(),
            "refused": Refusal("wrong_type", "<why the answer was refused>").as_output(),
        },
    }


def _conformance() -> Json:
    return {
        "suiteVersion": contract.SUITE_VERSION,
        "turnDetections": [dict(detection) for detection in contract.TURN_DETECTIONS],
        "thresholds": {_camel(name): value for name, value in asdict(contract.THRESHOLDS).items()},
        "checks": [
            {"id": check.id, "description": check.description, "perTurnDetection": check.per_turn_detection}
            for check in contract.CHECKS
        ],
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
