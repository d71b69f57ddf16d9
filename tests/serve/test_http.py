"""What is served over plain HTTP, without sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from tests.fakes.clock import VirtualClock
from tests.fakes.engine import ScriptedEngine

from realtime_harness.call import Calls
from realtime_harness.serve import KeyRing, create_app

pytestmark = pytest.mark.anyio
KEY = "the-key-of-these-tests"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    async with Calls(VirtualClock()) as calls:
        yield calls


@pytest.fixture
async def http(calls: Calls) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(calls, KeyRing({KEY: "key"}), clock=VirtualClock())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


async def test_healthz_answers_from_the_start(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/healthz")).json() == {"status": "ok"}


async def test_readyz_is_503_while_starting_200_when_ready_and_503_while_draining(
    http: httpx2.AsyncClient, calls: Calls
) -> None:
    assert (await http.get("/readyz")).status_code == 503
    calls.ready({"scripted": ScriptedEngine()}, "scripted")
    assert (await http.get("/readyz")).status_code == 200
    await calls.drain(0)
    answer = await http.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})


async def test_the_page_may_be_framed_by_nobody_and_loads_from_nowhere_else(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/")
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert "//" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert "set-cookie" not in answer.headers


async def test_every_file_that_the_page_names_is_there(http: httpx2.AsyncClient) -> None:
    import re

    files = re.findall(r'"(/page/[\w.-]+)"', (await http.get("/")).text)
    assert len(files) == 3
    scripts = {"/page/page.js", "/page/conversation.js", "/page/audio.js"}
    for name in scripts:
        text = (await http.get(name)).text
        files += [f"/page/{found}" for found in re.findall(r'from "\./([\w.-]+)"', text)]
        files += re.findall(r'"(/page/[\w.-]+)"', text)
    for file in set(files):
        answer = await http.get(file)
        assert answer.status_code == 200, file
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["nothing.js", "..%2fpage.py", "%2e%2e/auth.py", "__init__.py"])
async def test_nothing_else_is_served_as_a_file(http: httpx2.AsyncClient, name: str) -> None:
    assert (await http.get(f"/page/{name}")).status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Basic {KEY}"}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"cookie": f"key={KEY}"}, 401),
        ({"authorization": f"Bearer {KEY}"}, 426),
        ({"authorization": f"bearer {KEY}"}, 426),
        ({"api-key": KEY}, 426),
    ],
)
async def test_the_key_decides_what_plain_http_is_told_at_the_websocket(
    http: httpx2.AsyncClient, calls: Calls, headers: dict[str, str], status: int
) -> None:
    calls.ready({"scripted": ScriptedEngine()}, "scripted")
    answer = await http.get("/v1/realtime", headers=headers)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["message"] and error["code"]
    assert KEY not in answer.text


async def test_a_key_in_the_query_is_no_key(http: httpx2.AsyncClient) -> None:
    assert (await http.get(f"/v1/realtime?api_key={KEY}&key={KEY}")).status_code == 401


async def test_while_starting_it_is_503_with_a_time_to_try_again(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/v1/realtime", headers={"api-key": KEY})
    assert answer.status_code == 503 and answer.headers["retry-after"]


async def test_too_many_attempts_of_one_address_are_429_even_with_the_key(http: httpx2.AsyncClient) -> None:
    statuses = [(await http.get("/v1/realtime")).status_code for _ in range(201)]
    assert statuses[:200] == [401] * 200
    assert statuses[200] == 429
    assert (await http.get("/v1/realtime", headers={"api-key": KEY})).status_code == 429
    assert (await http.get("/healthz")).status_code == 200


def test_a_key_ring_keeps_no_key() -> None:
    assert KEY not in repr(vars(KeyRing({KEY: "key"})))
