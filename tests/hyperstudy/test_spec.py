"""agent-spec.json: what is generated is what was published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from realtime_harness.errors import ConfigError
from realtime_harness.hyperstudy import spec
from realtime_harness.hyperstudy.contract import SPEC_VERSION

BESIDE = Path(__file__).parents[3] / "shared"
PLACEHOLDERS = {  # the strings of 0.2.0 that hold one, and what is left of them without it
    "voiceEngine.connection.headers.Authorization": ("Bearer <api key>", "Bearer "),
    "voiceEngine.connection.headers.OpenAI-Safety-Identifier": ("hs-<opaque id>", "hs-"),
    "voiceEngine.clientEvents.0.example.session.instructions": ("<the persona and study instructions>", ""),
    "voiceEngine.clientEvents.1.example.session.instructions": (
        "<the persona and study instructions, with guidance for this part>",
        "",
    ),
    "voiceEngine.clientEvents.4.example.audio": ("<base64 PCM16>", ""),
    "voiceEngine.clientEvents.6.example.item.content.1.image_url": (
        "data:image/png;base64,<base64 bytes>",
        "data:image/png;base64,",
    ),
    "voiceEngine.clientEvents.7.purpose": (
        'Answer a function call: a JSON result, or {"error": "<reason>"} when the call was refused.',
        'Answer a function call: a JSON result, or {"error": ""} when the call was refused.',
    ),
    "voiceEngine.clientEvents.7.example.item.call_id": ("<call_id>", ""),
    "voiceEngine.clientEvents.8.example.item_id": ("<item_id>", ""),
    "voiceEngine.clientEvents.10.example.response_id": ("<response_id>", ""),
    "voiceEngine.functionOutputs.refused.error": ("<why the answer was refused>", ""),
    "modelEndpoint.authentication": ("Authorization: Bearer <api key>", "Authorization: Bearer "),
}


def strings_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings_of(entry, f"{path}.{key}".lstrip("."))
    elif isinstance(value, str):
        yield path, value


def test_the_code_generates_exactly_what_was_published() -> None:
    assert spec.to_text(spec.document()) == spec.published(SPEC_VERSION)


def test_stripping_changes_these_strings_and_no_other() -> None:
    whole = spec.document()
    stripped = dict(strings_of(spec.strip_placeholders(whole)))
    changed = {path: (text, stripped[path]) for path, text in strings_of(whole) if stripped[path] != text}
    assert changed == PLACEHOLDERS
    assert len(PLACEHOLDERS) == 12


def test_without_placeholders_it_equals_the_platforms_own_document() -> None:
    found = sorted(BESIDE.glob("*/001_*"))
    if not found:
        pytest.skip("the platform's own agent-spec.json is not on this machine")
    original = json.loads(found[0].read_text("utf-8"))
    ours = spec.strip_placeholders(spec.document())
    assert json.dumps(ours) == json.dumps(original), "the same values, of the same types, in the same order"


def test_the_latest_version_is_the_one_the_code_is_built_to() -> None:
    assert spec.versions()[-1] == SPEC_VERSION
    assert spec.published("latest") == spec.published(SPEC_VERSION)


def test_every_published_version_names_itself_and_stands_in_the_changelog() -> None:
    for version in spec.versions():
        assert json.loads(spec.published(version))["specVersion"] == version
        assert f"\n## {version}" in spec.changelog()


@pytest.mark.parametrize("version", ["0.9.9", "", "../0.2.0", "CHANGELOG"])
def test_a_version_that_was_never_published_is_refused_with_those_that_were(version: str) -> None:
    with pytest.raises(ConfigError, match=r"expected latest or one of: 0\.2\.0"):
        spec.published(version)


def test_stripping_leaves_other_values_and_its_argument_alone() -> None:
    given = {"a": [1, None, True, "x <y> z", "a < b", "a > b < c"], "b<c>": {}}
    assert spec.strip_placeholders(given) == {"a": [1, None, True, "x  z", "a < b", "a > b < c"], "b<c>": {}}
    assert given["a"][3] == "x <y> z"  # type: ignore[index]
