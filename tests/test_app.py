"""The wiring: whatever fails, what was loaded is closed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from realtime_harness import app
from realtime_harness.config import Settings
from realtime_harness.engines import local
from realtime_harness.errors import ModelFileError
from realtime_harness.minds import factory
from tests.fakes.clock import settle
from tests.fakes.engine import ScriptedEngine

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class FakeServer:
    """Serves until it is told to stop, or `breaks` once what is loaded is loaded."""

    breaks = False

    def __init__(self, *given: Any, **more: Any) -> None:
        self.should_exit = False

    async def serve(self, sockets: Any) -> None:
        while not self.should_exit:
            await asyncio.sleep(0)
            if self.breaks:
                await settle()
                raise RuntimeError("the server broke")


class UnclosableEngine(ScriptedEngine):
    async def close(self) -> None:
        await super().close()
        raise RuntimeError("it broke on closing")


@pytest.mark.parametrize("failure", [ModelFileError("The voice is missing."), asyncio.CancelledError()])
async def test_when_the_rest_does_not_load_the_mind_is_closed(
    failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mind:
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    mind, given = Mind(), []

    async def make_mind(*spec: Any) -> Mind:
        given.append(spec)
        return mind

    async def load(*what: Any) -> None:
        given.append(what)
        raise failure

    monkeypatch.setattr(factory, "make_mind", make_mind)
    monkeypatch.setattr(local, "load", load)
    settings = Settings(mind="http://host/v1#m", mind_api_key="sk-mind", local_capacity=7)  # type: ignore[arg-type]
    with pytest.raises(type(failure)):
        await app.load_engines(settings)
    assert mind.closed == 1
    assert given == [("http://host/v1#m", "sk-mind"), (mind, 7)]


@pytest.mark.parametrize("broken", ["the server", "what is told when it is ready"])
async def test_whatever_breaks_the_engines_are_closed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "Server", FakeServer)
    monkeypatch.setattr(FakeServer, "breaks", broken == "the server")
    engines = {"one": UnclosableEngine(), "two": ScriptedEngine()}

    async def load() -> Any:
        return app.Loaded(engines)

    def ready() -> None:
        if broken != "the server":
            raise RuntimeError("nobody can be told")

    with capture_logs() as lines, pytest.raises(RuntimeError, match=r"server broke|nobody can be told"):
        await app.serve(Settings(), "a-key-of-the-tests", None, load=load, on_ready=ready)  # type: ignore[arg-type]
    assert all(engine.closed for engine in engines.values())
    assert [(line["event"], line["engine"]) for line in lines] == [("engine did not close", "one")]
