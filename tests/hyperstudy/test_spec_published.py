"""`rth spec`, and the documents that `rth serve` publishes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from realtime_harness.call import Calls
from realtime_harness.cli import main
from realtime_harness.hyperstudy import spec
from realtime_harness.serve import KeyRing, create_app
from tests.fakes.clock import VirtualClock


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def stricter(tmp_path: Path) -> str:
    document = spec.document()
    document["specVersion"] = "0.3.0"
    document["conformance"]["thresholds"]["maxOnsetDelayMs"] = 500
    document["voiceEngine"]["tools"].pop()
    file = tmp_path / "agent-spec.json"
    file.write_text(spec.to_text(document), "utf-8")
    return str(file)


@pytest.mark.parametrize("arguments", [[], ["--version", "0.2.0"], ["--version", "latest"]])
def test_the_document_is_printed_as_it_was_published(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", *arguments) == 0
    assert capsys.readouterr().out == spec.published("0.2.0")


def test_versions_and_the_changelog_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "versions") == 0
    assert capsys.readouterr().out == "0.2.0\n"
    assert run("spec", "changelog") == 0
    assert capsys.readouterr().out == spec.changelog()


def test_an_unknown_version_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "--version", "9.9.9") == 2
    assert "'9.9.9'" in capsys.readouterr().err


def test_a_diff_of_the_same_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "diff", "0.2.0", "latest") == 0
    assert capsys.readouterr().out == "0 changes, 0 of which break an adapter.\n"


def test_a_diff_puts_what_breaks_first_and_ends_with_1(stricter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "diff", "latest", stricter) == 1
    assert capsys.readouterr().out.splitlines() == [
        "BREAKS  removed voiceEngine/tools/answer_dimensions (a call of it is now refused)",
        "BREAKS  changed conformance/thresholds/maxOnsetDelayMs: 1000 -> 500 (the engine now has less time)",
        'ok      changed specVersion: "0.2.0" -> "0.3.0" (the document\'s own name)',
        "3 changes, 2 of which break an adapter.",
    ]


def test_a_diff_back_to_what_is_looser_breaks_nothing(stricter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "diff", stricter, "latest") == 0
    assert "3 changes, 0 of which break" in capsys.readouterr().out


def test_a_diff_for_programs_is_one_array(stricter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("spec", "diff", "--json", "latest", stricter) == 1
    changes = json.loads(capsys.readouterr().out)
    assert [change["breaks"] for change in changes] == [False, True, True]
    assert set(changes[0]) == {"path", "kind", "before", "after", "breaks", "why"}


@pytest.mark.parametrize(
    ("content", "said"), [(None, "a version"), ("{", "not JSON"), ("[]", "JSON array"), ("{}", "specVersion")]
)
def test_what_is_no_version_and_no_document_is_refused(
    content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "b.json"
    if content is not None:
        file.write_text(content, "utf-8")
    assert run("spec", "diff", "latest", str(file)) == 2
    error = capsys.readouterr().err
    assert said in error and str(file) in error and "Traceback" not in error


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with Calls(VirtualClock()) as calls:
        app = create_app(calls, KeyRing({"the-key-of-these-tests": "key"}), clock=VirtualClock())
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            yield client


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["0.2.0", "latest"])
async def test_anybody_may_read_a_version_and_the_latest(http: httpx2.AsyncClient, version: str) -> None:
    answer = await http.get(f"/agent-spec/{version}/agent-spec.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.text == spec.published(version)


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["0.9.9", "CHANGELOG"])
async def test_another_version_is_404_and_names_those_there_are(http: httpx2.AsyncClient, version: str) -> None:
    answer = await http.get(f"/agent-spec/{version}/agent-spec.json")
    assert answer.status_code == 404
    assert answer.json()["error"].endswith("expected one of: 0.2.0, latest.")


@pytest.mark.anyio
async def test_no_other_file_is_reached(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/agent-spec/..%2fversions%2f0.2.0/agent-spec.json")).status_code == 404


@pytest.mark.anyio
async def test_the_changelog_is_published_beside_them(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/agent-spec/CHANGELOG.md")
    assert (answer.status_code, answer.text) == (200, spec.changelog())
