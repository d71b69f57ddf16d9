"""The page, in a real browser, over a scripted engine: speech from a file goes in as the microphone's."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fakes.engine import WORDS, ScriptedEngine, ScriptedSession, answer, conversational
from tests.fakes.server import KEY, Running, running_server

from realtime_harness.audio.wav import write_wav
from realtime_harness.call import CallsLimits
from realtime_harness.realtime import events as e

pytestmark = [pytest.mark.real, pytest.mark.anyio]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 860}
SHOTS = os.environ.get("RTH_TEST_SHOTS")  # a directory: pictures of the page go there


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def microphone_wav(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a second of silence, a second of tone, and silence for long."""
    import math
    from array import array

    tone = array("h", (int(9_000 * math.sin(i * 2 * math.pi * 220 / 24_000)) for i in range(24_000)))
    path = tmp_path_factory.mktemp("microphone") / "speech.wav"
    write_wav(path, bytes(24_000) + tone.tobytes() + bytes(48_000 * 30))
    return path


@asynccontextmanager
async def page_at(running: Running, wav: Path | None, *, size: dict[str, int] = PHONE, fragment: str = f"#key={KEY}", scheme: str = "light", allow: bool = True, script: str = "") -> AsyncIterator:  # fmt: skip
    from playwright.async_api import async_playwright

    if CHROMIUM is None:
        pytest.fail("This test needs a browser. Install it with: apt-get install -y chromium")
    flags = ["--no-sandbox", "--use-fake-device-for-media-stream", "--autoplay-policy=no-user-gesture-required"]
    flags += ["--use-fake-ui-for-media-stream"] if allow else ["--deny-permission-prompts"]
    if wav is not None:
        flags.append(f"--use-file-for-fake-audio-capture={wav}%noloop")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            context = await browser.new_context(viewport=size, color_scheme=scheme)
            page = await context.new_page()
            await page.add_init_script(script)
            faults: list[str] = []
            page.on("pageerror", lambda problem: faults.append(str(problem)))
            page.on(
                "console", lambda message: faults.append(message.text) if "Content Security" in message.text else None
            )
            await page.goto(running.url + "/" + fragment)
            yield page
            assert not faults
        finally:
            await browser.close()


async def shoot(page, name: str) -> None:
    if SHOTS:
        await page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")])
async def test_one_taps_speaks_and_is_answered(microphone_wav: Path, size: dict[str, int], scheme: str) -> None:
    async with running_server() as running, page_at(running, microphone_wav, size=size, scheme=scheme) as page:
        assert KEY not in page.url, "the key leaves the address bar"
        await shoot(page, f"start-{scheme}")
        await page.get_by_role("button", name="Tap to talk").click()
        await page.get_by_text(WORDS).wait_for()
        await page.get_by_text("What is the capital of France?").wait_for()
        await page.get_by_role("status").filter(has_text="Listening").wait_for()
        await shoot(page, f"answered-{scheme}")
        (session,) = running.engine.sessions
        appended = b"".join(x.audio for x in session.sent if isinstance(x, e.AudioAppend))
        started = next(i for i in range(0, len(appended) - 1, 2) if abs(int.from_bytes(appended[i : i + 2], "little", signed=True)) > 2_000)  # fmt: skip
        assert started > 0
        await page.get_by_role("button", name="End", exact=True).click()
        await page.get_by_role("status").filter(has_text="Not connected").wait_for()


async def test_a_typed_message_is_answered_without_a_microphone() -> None:
    async with running_server() as running, page_at(running, None, allow=False) as page:
        await page.get_by_label("Message").fill("Hello there")
        await page.keyboard.press("Enter")
        await page.get_by_text(WORDS).wait_for()
        (session,) = running.engine.sessions
        assert any(isinstance(x, e.ItemCreate) for x in session.sent)
        assert not any(isinstance(x, e.AudioAppend) for x in session.sent)


async def test_a_denied_microphone_is_explained() -> None:
    async with running_server() as running, page_at(running, None, allow=False) as page:
        await page.get_by_role("button", name="Tap to talk").click()
        await page.get_by_role("alert").filter(has_text="icrophone").wait_for()
        await shoot(page, "denied")


async def test_a_wrong_key_is_explained_and_asked_for() -> None:
    async with running_server() as running, page_at(running, None, fragment="#key=wrong-key-here") as page:
        await page.get_by_role("button", name="Tap to talk").click()
        await page.get_by_role("alert").filter(has_text="not the server's").wait_for()
        await shoot(page, "wrong-key")
        await page.get_by_label("Key of this server").fill(KEY)
        await page.get_by_role("button", name="Use").click()
        await page.get_by_label("Message").fill("Hello")
        await page.get_by_role("button", name="Send").click()
        await page.get_by_text(WORDS).wait_for()


async def test_a_full_server_is_explained() -> None:
    async with running_server(ScriptedEngine(capacity=0)) as running, page_at(running, None) as page:
        await page.get_by_role("button", name="Tap to talk").click()
        await page.get_by_role("alert").filter(has_text="places").wait_for()


async def test_speech_into_an_answer_stops_it_and_tells_how_much_was_heard() -> None:
    def script(session: ScriptedSession, event: e.ClientEvent) -> None:
        if isinstance(event, e.ResponseCreate):
            answer(session, "A long answer that goes on and on.", ms=8_000)
        else:
            conversational(session, event)

    async with running_server(ScriptedEngine(script)) as running, page_at(running, None) as page:
        await page.get_by_label("Message").fill("Tell me a story")
        await page.keyboard.press("Enter")
        await page.get_by_role("status").filter(has_text="Speaking").wait_for()
        await page.wait_for_timeout(700)
        (session,) = running.engine.sessions
        session.say(e.SpeechStarted, audio_start_ms=100, item_id=session.ids.mint("item"))
        await page.get_by_text("(interrupted)").wait_for()
        await shoot(page, "interrupted")
        cuts = [x for x in session.sent if isinstance(x, e.ItemTruncate)]
        assert len(cuts) == 1
        assert 300 <= cuts[0].audio_end_ms <= 2_500


async def test_a_line_that_ends_says_why() -> None:
    async with running_server(calls_limits=CallsLimits()) as running, page_at(running, None) as page:
        await page.get_by_label("Message").fill("Hello")
        await page.keyboard.press("Enter")
        await page.get_by_text(WORDS).wait_for()
        await running.calls.drain(0.0)
        await page.get_by_role("alert").filter(has_text="going away").wait_for()


async def test_while_muted_it_says_so_and_not_that_it_listens() -> None:
    async with running_server() as running, page_at(running, None) as page:
        status, talk = page.get_by_role("status"), page.locator("#talk-label")
        await page.get_by_role("button", name="Tap to talk").click()
        await status.filter(has_text="Listening").wait_for()
        await page.get_by_role("button", name="Mute").click()
        await status.filter(has_text="Muted").wait_for()
        assert await talk.inner_text() == "Muted"
        (session,) = running.engine.sessions
        answer(session, ms=1_500)
        await status.filter(has_text="Speaking").wait_for()
        await page.get_by_role("button", name="Unmute").click()
        assert await status.inner_text() == "Speaking"
        await page.get_by_role("button", name="Mute").click()
        await status.filter(has_text="Muted").wait_for()
        await page.get_by_role("button", name="Unmute").click()
        await status.filter(has_text="Listening").wait_for()
        assert await talk.inner_text() == "Just speak"


async def test_a_network_that_takes_nothing_ends_the_call_with_a_reason() -> None:
    behind = "Object.defineProperty(WebSocket.prototype, 'bufferedAmount', { get: () => window.behind ?? 0 });"
    async with running_server() as running, page_at(running, None, script=behind) as page:
        await page.get_by_role("button", name="Tap to talk").click()
        await page.get_by_role("status").filter(has_text="Listening").wait_for()
        await page.evaluate("window.behind = 700_000")
        await page.get_by_role("alert").filter(has_text="too slow").wait_for()
        assert await page.get_by_role("status").inner_text() == "Not connected"


async def test_a_loudspeaker_that_does_not_answer_holds_nobody_up() -> None:
    deaf = """
        const post = MessagePort.prototype.postMessage;
        MessagePort.prototype.postMessage = function (message, ...more) {
          if (message?.type !== "stop") post.call(this, message, ...more);
        };
    """
    async with running_server() as running, page_at(running, None, script=deaf) as page:
        await page.get_by_label("Message").fill("Hello")
        await page.keyboard.press("Enter")
        await page.get_by_text(WORDS).wait_for(timeout=5_000)
