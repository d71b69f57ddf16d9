"""The record: what is written is there after a restart; another owner's is not there; one task a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from realtime_harness.errors import ConfigError
from realtime_harness.record import Claim, Record
from realtime_harness.record.database import open_database
from realtime_harness.record.tables import metadata

INPUT = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]


def claim(number: int, session: str = "hsess1", **more: Any) -> Claim:
    body = {"id": f"resp_{number}", "status": "in_progress", "output": [], "store": True}
    given = {"owner": "a", "harness_id": "chrn_local", "title": "Hello", "lease": "p1", "lease_until": time.time() + 60}
    return Claim(session_id=session, body=body, input=INPUT, **{**given, **more})


def with_record(path: Path, work: Callable[[Record], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        record = Record(open_database(f"sqlite:///{path / 'record.sqlite3'}"))
        try:
            return await work(record)
        finally:
            await record.close()

    return asyncio.run(run())


def done(number: int) -> dict[str, Any]:
    return {"id": f"resp_{number}", "status": "completed", "output": [], "store": True}


def test_migrations_make_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'r.sqlite3'}")
    found = inspect(engine)

    for table in metadata.sorted_tables:
        assert {column["name"] for column in found.get_columns(table.name)} == {column.name for column in table.columns}
    engine.dispose()
    open_database(f"sqlite:///{tmp_path / 'r.sqlite3'}").dispose()  # a second time changes nothing


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    async def write(record: Record) -> None:
        await record.claim(claim(1))
        await record.write(
            "resp_1", [{"sequence_number": 0, "type": "x"}, {"sequence_number": 1, "type": "y"}], done(1)
        )

    async def read(record: Record) -> Any:
        return (
            await record.response("a", "resp_1"),
            await record.happened("resp_1", 0),
            await record.session("a", "hsess1"),
        )

    with_record(tmp_path, write)
    stored, happened, session = with_record(tmp_path, read)

    assert (stored.body["status"], stored.input) == ("completed", INPUT)
    assert [event["type"] for event in happened] == ["y"]
    assert (session.title, session.busy) == ("Hello", False)


def test_anothers_is_not_there(tmp_path: Path) -> None:
    async def play(record: Record) -> list[Any]:
        await record.claim(claim(1))
        return [
            await record.response("b", "resp_1"),
            await record.session("b", "hsess1"),
            await record.list_sessions("b", 10, None, None),
            await record.delete_response("b", "resp_1"),
            await record.delete_session("b", "hsess1"),
        ]

    assert with_record(tmp_path, play) == [None, None, [], False, False]


def test_a_session_answers_one_thing_at_a_time(tmp_path: Path) -> None:
    async def play(record: Record) -> list[bool]:
        first, second = await record.claim(claim(1)), await record.claim(claim(2))
        await record.write("resp_1", [], done(1))
        third = await record.claim(claim(3))
        return [first.busy, second.busy, third.busy]

    assert with_record(tmp_path, play) == [False, True, False]


def test_a_key_that_comes_again_means_the_first_response(tmp_path: Path) -> None:
    async def play(record: Record) -> Any:
        await record.claim(claim(1, key="k", request="r"))
        same = await record.claim(claim(2, "hsess2", key="k", request="r"))
        other = await record.claim(claim(3, "hsess3", key="k", request="s"))
        elsewhere = await record.claim(claim(4, "hsess4", key="k", request="r", owner="b"))
        await record.forget_keys(int(time.time()) + 10)
        later = await record.claim(claim(5, "hsess5", key="k", request="r"))
        return same.response_id, other.other_request, elsewhere.response_id, later.response_id

    assert with_record(tmp_path, play) == ("resp_1", True, None, None)


def test_what_a_gone_process_left_is_found_when_its_lease_is_over(tmp_path: Path) -> None:
    async def play(record: Record) -> list[list[str]]:
        await record.claim(claim(1, lease="gone", lease_until=100.0))
        await record.claim(claim(2, "hsess2", lease="here", lease_until=100.0))
        await record.renew("here", 1_000.0)
        return [[each.id for each in await record.abandoned(now)] for now in (99.0, 500.0, 2_000.0)]

    assert with_record(tmp_path, play) == [[], ["resp_1"], ["resp_1", "resp_2"]]


def test_sessions_come_in_pages_the_last_used_first(tmp_path: Path) -> None:
    async def play(record: Record) -> tuple[list[str], list[str]]:
        for number in range(5):
            await record.claim(claim(number, f"hsess{number}"))
        first = await record.list_sessions("a", 3, None, None)
        last = first[-1]
        rest = await record.list_sessions("a", 3, (last.updated_at, last.id), "chrn_local")
        return [each.id for each in first], [each.id for each in rest]

    first, rest = with_record(tmp_path, play)
    assert sorted(first + rest) == [f"hsess{number}" for number in range(5)]


def test_a_session_that_is_deleted_takes_all_of_it_along(tmp_path: Path) -> None:
    async def play(record: Record) -> Any:
        await record.claim(claim(1))
        await record.write("resp_1", [{"sequence_number": 0}], done(1))
        await record.delete_session("a", "hsess1")
        return await record.response("a", "resp_1"), await record.happened("resp_1", -1)

    assert with_record(tmp_path, play) == (None, [])


def test_one_that_fails_is_not_anothers_failure(tmp_path: Path) -> None:
    async def play(record: Record) -> list[str]:
        await record.claim(claim(1))
        bad = record.write("resp_1", [{"sequence_number": 0}, {"sequence_number": 0}], done(1))
        good = record.claim(claim(2, "hsess2"))
        outcomes = await asyncio.gather(bad, good, return_exceptions=True)
        return [type(outcome).__name__ for outcome in outcomes]

    assert with_record(tmp_path, play) == ["RecordFailed", "Found"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "expected sqlite"),
        ("postgresql+nodriver://u:secret@h/n", "cannot be opened"),
        ("sqlite:////proc/x/y", "cannot be opened"),
    ],
)
def test_a_record_that_cannot_be_opened_is_said_without_its_password(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        open_database(url)

    assert "secret" not in str(refused.value)
