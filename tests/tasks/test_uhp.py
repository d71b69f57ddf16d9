"""UHP Core over a scripted engine: tasks blocking, streamed, continued, cancelled; owners apart; a crash recovered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import orjson
from starlette.applications import Starlette

from realtime_harness.call import Calls
from realtime_harness.clock import SystemClock
from realtime_harness.realtime import events as e
from realtime_harness.record import Claim, Record
from realtime_harness.record.database import open_database
from realtime_harness.serve.auth import KeyRing
from realtime_harness.serve.uhp import UhpEndpoint
from realtime_harness.tasks import Harness, Tasks
from tests.fakes.engine import ScriptedEngine, ScriptedSession

KEYS = {"a-key-of-alice": "alice", "a-key-of-bob": "bob"}
ALICE = {"Authorization": "Bearer a-key-of-alice"}
BOB = {"Authorization": "Bearer a-key-of-bob"}
USAGE = {
    "total_tokens": 12,
    "input_tokens": 8,
    "output_tokens": 4,
    "input_token_details": {"text_tokens": 8, "cached_tokens": 0},
}


def text_script(session: ScriptedSession, event: e.ClientEvent) -> None:
    """Answers `response.create` with a text; one that is to be long goes on until it is cancelled."""
    if isinstance(event, e.ResponseCreate):
        response = {
            "id": session.ids.mint("resp"),
            "object": "realtime.response",
            "status": "in_progress",
            "output": [],
        }
        asked = [sent.item for sent in session.sent if isinstance(sent, e.ItemCreate)]
        words = asked[-1]["content"][0]["text"] if asked else ""
        place = {"response_id": response["id"], "item_id": "item_1", "output_index": 0, "content_index": 0}
        session.say(e.ResponseCreated, response=response)
        for word in ("I", " heard: ", words):
            session.say(e.OutputTextDelta, **place, delta=word)
        if "long" not in words:
            status = "failed" if "fail" in words else "completed"
            details = {"type": "failed", "error": {"message": "It broke."}} if status == "failed" else None
            session.say(
                e.ResponseDone, response={**response, "status": status, "status_details": details, "usage": USAGE}
            )


def play(path: Path, work: Callable[[httpx2.AsyncClient, Record], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        record = Record(open_database(f"sqlite:///{path / 'record.sqlite3'}"))
        try:
            async with Calls(SystemClock()) as calls, Tasks(calls, record) as tasks:
                calls.ready({"local": ScriptedEngine(text_script)}, "local")
                tasks.ready({"chrn_local": Harness("chrn_local", "local", "local", "local/scripted")})
                app = Starlette(routes=UhpEndpoint(tasks, KeyRing(KEYS)).routes())
                transport = httpx2.ASGITransport(app)
                async with httpx2.AsyncClient(transport=transport, base_url="http://t/v1/", headers=ALICE) as http:
                    return await asyncio.wait_for(work(http, record), 30)
        finally:
            await record.close()

    return asyncio.run(run())


async def task(http: httpx2.AsyncClient, text: str, **more: Any) -> httpx2.Response:
    return await http.post("responses", json={"input": text, **more})


def events_of(text: str) -> list[dict[str, Any]]:
    return [orjson.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: ")]


def test_a_task_is_answered_recorded_and_read_back(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        made = (await task(http, "Hello")).json()
        read = (await http.get(f"responses/{made['id']}")).json()
        items = (await http.get(f"responses/{made['id']}/input_items")).json()
        return made, read, items

    made, read, items = play(tmp_path, work)

    assert made["status"] == "completed"
    assert made["output"][0]["content"][0]["text"] == "I heard: Hello"
    assert made["usage"]["total_tokens"] == 12
    assert made["usage"]["input_tokens_details"] == {"text_tokens": 8, "cached_tokens": 0}
    assert read == made
    assert items["data"][0]["content"][0]["text"] == "Hello"


def test_a_stream_is_the_same_object_in_pieces(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        answer = await task(http, "Hello", stream=True)
        events = events_of(answer.text)
        read = (await http.get(f"responses/{events[0]['response']['id']}")).json()
        again = await http.get(f"responses/{read['id']}?stream=true", headers={**ALICE, "Last-Event-ID": "2"})
        return answer, events, read, events_of(again.text)

    answer, events, read, again = play(tmp_path, work)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "\r" not in answer.text
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"] == read
    assert again == events[3:]


def test_a_session_goes_on_with_what_was_said(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        first = (await task(http, "My name is Tom.")).json()
        second = (await task(http, "Hello again", previous_response_id=first["id"])).json()
        session_id = first["metadata"]["session_id"]
        turns = (await http.get(f"sessions/{session_id}/turns")).json()["turns"]
        return first, second, turns, (await http.get(f"sessions/{session_id}")).json()

    first, second, turns, session = play(tmp_path, work)

    assert second["metadata"]["session_id"] == first["metadata"]["session_id"]
    assert second["previous_response_id"] == first["id"]
    assert [(turn["user"], turn["assistant"]) for turn in turns] == [
        ("My name is Tom.", "I heard: My name is Tom."),
        ("Hello again", "I heard: Hello again"),
    ]
    assert (session["title"], session["status"]) == ("My name is Tom.", "idle")


def test_a_task_in_the_background_is_cancelled_and_keeps_what_it_said(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        begun = (await task(http, "A long story", background=True)).json()
        busy = await task(http, "And?", previous_response_id=begun["id"])
        await asyncio.sleep(0.2)
        cancelled = (await http.post(f"responses/{begun['id']}/cancel")).json()
        again = (await http.post(f"responses/{begun['id']}/cancel")).json()
        return begun, busy, cancelled, again

    begun, busy, cancelled, again = play(tmp_path, work)

    assert begun["status"] == "in_progress"
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "session_busy")
    assert (cancelled["status"], cancelled["error"]) == ("cancelled", None)
    assert cancelled["output"][0]["content"][0]["text"] == "I heard: A long story"
    assert again == cancelled


def test_a_budget_of_time_ends_it_incomplete(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        return (await task(http, "A long story", timeout_seconds=1)).json()

    made = play(tmp_path, work)

    assert (made["status"], made["incomplete_details"]) == ("incomplete", {"reason": "timeout_seconds"})


def test_a_failed_task_is_an_answer_with_its_reason(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        return await task(http, "Please fail")

    answer = play(tmp_path, work)

    assert answer.status_code == 200
    assert answer.json()["status"] == "failed"
    assert answer.json()["error"]["code"] == "provider_error"
    assert "It broke." in answer.json()["error"]["message"]


def test_a_key_that_comes_again_runs_nothing(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> Any:
        headers = {**ALICE, "Idempotency-Key": "k-1"}
        one = await http.post("responses", json={"input": "Hello"}, headers=headers)
        same = await http.post("responses", json={"input": "Hello"}, headers=headers)
        other = await http.post("responses", json={"input": "Bye"}, headers=headers)
        return one.json(), same.json(), other

    one, same, other = play(tmp_path, work)

    assert same == one
    assert (other.status_code, other.json()["error"]["param"]) == (400, "Idempotency-Key")


def test_whatever_is_anothers_is_not_there(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> list[int]:
        made = (await task(http, "Mine")).json()
        response_id, session_id = made["id"], made["metadata"]["session_id"]
        asked = [
            ("GET", f"responses/{response_id}"),
            ("GET", f"responses/{response_id}/input_items"),
            ("GET", f"responses/{response_id}?stream=true"),
            ("POST", f"responses/{response_id}/cancel"),
            ("DELETE", f"responses/{response_id}"),
            ("GET", f"sessions/{session_id}"),
            ("GET", f"sessions/{session_id}/turns"),
            ("POST", f"sessions/{session_id}/cancel"),
            ("DELETE", f"sessions/{session_id}"),
            ("DELETE", f"traces/{session_id}"),
        ]
        statuses = [(await http.request(method, path, headers=BOB)).status_code for method, path in asked]
        continued = await http.post("responses", json={"input": "x", "previous_response_id": response_id}, headers=BOB)
        listed = (await http.get("sessions", headers=BOB)).json()["sessions"]
        assert listed == []
        assert (await http.get(f"responses/{response_id}")).status_code == 200, "and it is all still there"
        return [*statuses, continued.status_code]

    assert set(play(tmp_path, work)) == {404}


def test_every_answer_has_its_version_and_every_error_its_envelope(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient, _record: Record) -> list[httpx2.Response]:
        return [
            await http.get("uhp", headers={"Authorization": ""}),
            await http.get("harnesses", headers={"Authorization": ""}),
            await http.get("harnesses", headers={"Authorization": "Bearer nobody"}),
            await http.get("harnesses", headers={**ALICE, "UHP-Version": "2026-08-11"}),
            await http.get("harnesses", headers={**ALICE, "UHP-Version": "1999-01-01"}),
            await http.get("harnesses/chrn_none"),
            await http.put("responses", json={}),
            await http.post("responses", content=b"{nope"),
        ]

    answers = play(tmp_path, work)

    assert [answer.status_code for answer in answers] == [200, 401, 401, 200, 400, 404, 405, 400]
    assert all(answer.headers["uhp-version"] for answer in answers)
    assert answers[3].headers["uhp-version"] == "2026-08-11"
    codes = [answer.json()["error"]["code"] for answer in answers if answer.status_code >= 400]
    assert codes == [
        "missing_credential",
        "invalid_credential",
        "unsupported_protocol_version",
        "harness_not_found",
        "rth_method_not_allowed",
        "invalid_input",
    ]


def test_a_task_whose_process_is_gone_is_closed_with_the_reason_and_keeps_its_words(tmp_path: Path) -> None:
    async def leave(_http: httpx2.AsyncClient, record: Record) -> None:
        body = {
            "id": "resp_left",
            "status": "in_progress",
            "output": [
                {
                    "id": "msg_1",
                    "type": "message",
                    "status": "in_progress",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Half", "annotations": []}],
                }
            ],
            "metadata": {"session_id": "hsess_left", "harness_id": "chrn_local"},
            "store": True,
        }
        claim = Claim("alice", "hsess_left", "chrn_local", "x", body, [], lease="gone", lease_until=time.time() - 1)
        await record.claim(claim)
        await record.write("resp_left", [{"type": "response.created", "sequence_number": 0}], body)

    async def come_back(http: httpx2.AsyncClient, record: Record) -> Any:
        return (await http.get("responses/resp_left")).json(), await record.happened("resp_left", -1)

    play(tmp_path, leave)
    left, happened = play(tmp_path, come_back)

    assert left["status"] == "failed"
    assert "stopped in the middle" in left["error"]["message"]
    assert left["output"][0]["content"][0]["text"] == "Half"
    assert [event["sequence_number"] for event in happened] == list(range(len(happened)))
    assert happened[-1]["type"] == "response.failed"
