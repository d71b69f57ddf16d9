"""The hub source, against a hub that answers from memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from realtime_harness.errors import ModelFileError
from realtime_harness.models.hub import CONNECT_TIMEOUT_S, Hub
from realtime_harness.models.source import SourceFailed


class FakeHub:
    """Serves files by path, after one redirect as the hub does for large files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if request.url.host != "cdn.example":
            return httpx2.Response(302, headers={"location": f"https://cdn.example/{request.url.path.split('/')[-1]}"})
        content = self.files.get(request.url.path.strip("/"))
        return httpx2.Response(404) if content is None else httpx2.Response(200, content=content)


def hub(handler: Any, **environ: str) -> Hub:
    return Hub(environ, httpx2.MockTransport(handler))


def test_the_pinned_revision_is_fetched_from_the_official_repository(world: Any) -> None:
    fake = FakeHub(world.official)
    path = world.store(hub(fake)).fetch("ears-1.0")
    assert (path / "model.bin").read_bytes() == world.official["model.bin"]
    assert str(fake.requests[0].url) == "https://huggingface.co/somebody/ears/resolve/abc123/config.json"


def test_connecting_gives_up_soon(world: Any) -> None:
    fake = FakeHub(world.official)
    world.store(hub(fake)).fetch("brain")
    assert fake.requests[0].extensions["timeout"]["connect"] == CONNECT_TIMEOUT_S == 3.0


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ConnectTimeout])
def test_a_machine_without_a_way_out_goes_on_after_one_attempt(world: Any, error: type[Exception]) -> None:
    attempts: list[str] = []

    def unreachable(request: httpx2.Request) -> httpx2.Response:
        attempts.append(str(request.url))
        raise error("no route")

    later = world.source("later")
    world.store(hub(unreachable), later).fetch("ears-1.0")
    assert (len(attempts), later.asked) == (1, ["config.json", "model.bin"])


def test_an_unreachable_hub_is_named(world: Any) -> None:
    def unreachable(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no route")

    with pytest.raises(ModelFileError, match=r"hub: huggingface\.co cannot be reached"):
        world.store(hub(unreachable)).fetch("brain")


@pytest.mark.parametrize("code", [401, 403, 404, 429, 500])
def test_a_refusal_is_told_with_its_code(world: Any, code: int) -> None:
    with pytest.raises(ModelFileError, match=f"hub: huggingface.co answered {code} for brain.gguf"):
        world.store(hub(lambda request: httpx2.Response(code))).fetch("brain")


def test_a_login_page_is_not_the_file(world: Any) -> None:
    with pytest.raises(ModelFileError, match=r"hub: its brain\.gguf is short"):
        world.store(hub(lambda request: httpx2.Response(200, text="<html>"))).fetch("brain")


def test_a_transfer_that_breaks_off_falls_through(world: Any) -> None:
    class Broken(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            yield b"GGUF"
            raise httpx2.ReadError("reset")

    later = world.source("later")
    store = world.store(hub(lambda request: httpx2.Response(200, stream=Broken())), later)
    assert store.fetch("brain").read_bytes() == world.official["brain.gguf"]


def test_a_redirect_loop_falls_through(world: Any) -> None:
    with pytest.raises(ModelFileError, match=r"hub: huggingface\.co broke off: TooManyRedirects"):
        world.store(hub(lambda request: httpx2.Response(302, headers={"location": "/again"}))).fetch("brain")


def test_a_mirror_takes_the_place_of_the_hub(world: Any) -> None:
    fake = FakeHub(world.official)
    world.store(hub(fake, HF_ENDPOINT="https://mirror.example/hf/")).fetch("brain")
    assert str(fake.requests[0].url).startswith("https://mirror.example/hf/somebody/brain/resolve/def456/")


@pytest.mark.parametrize("endpoint", ["no-scheme", "ftp://mirror.example", "https://mirror.example:port"])
def test_a_mirror_that_is_no_address_falls_through(world: Any, endpoint: str) -> None:
    later = world.source("later")
    world.store(Hub({"HF_ENDPOINT": endpoint}), later).fetch("brain")
    assert later.asked == ["brain.gguf"]


def test_offline_means_offline(world: Any, tmp_path: Path) -> None:
    fake = FakeHub(world.official)
    source = hub(fake, HF_HUB_OFFLINE="1")
    with pytest.raises(SourceFailed, match="HF_HUB_OFFLINE is set"):
        next(source.chunks(world.brain, world.brain.files[0], tmp_path))
    assert fake.requests == []
