"""Steps that several checks share: opening a session as a platform does, a turn's events, a response's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from realtime_harness.conformance.faults import Unsupported
from realtime_harness.conformance.frames import Event, Frame
from realtime_harness.conformance.voice.platform import delta_pcm
from realtime_harness.conformance.voice.probe import AUDIO_FORMAT, CHUNK_MS, VOICE, Probe, Said
from realtime_harness.conformance.voice.study import PERSONA, STUDY_TOOLS

DEFAULT_PREFIX_MS = 300  # of audio_start_ms before the speech, where the session does not say
AUDIO_EVENTS = (
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done",
)


def turn_detection(requested: Event) -> Event:
    """Turn detection as a study asks for it (HRP 0.2.0, `session.update`)."""
    return {**requested, "create_response": True, "interrupt_response": True}


def session_fields(requested: Event, *, instructions: str = PERSONA, tools: Sequence[Event] = STUDY_TOOLS) -> Event:
    """The fields of a study's first `session.update`."""
    return {
        "output_modalities": ["audio"],
        "instructions": instructions,
        "tools": list(tools),
        "tool_choice": "auto",
        "audio": {
            "input": {"format": AUDIO_FORMAT, "transcription": None, "turn_detection": turn_detection(requested)},
            "output": {"format": AUDIO_FORMAT, "voice": VOICE, "speed": 1},
        },
    }


async def open_session(
    probe: Probe,
    requested: Event,
    *,
    needs: str = "",
    instructions: str = PERSONA,
    tools: Sequence[Event] = STUDY_TOOLS,
) -> Frame:
    """Waits for `session.created` and configures the session; its `session.updated`.

    Raises Unsupported where the session says that it lacks what the check `needs`.
    """
    created = await probe.wait("session.created", "session.created when the connection opens", rule="session.created")
    lacking: Any = created.get("session", "unsupported")
    if isinstance(lacking, list) and needs in lacking:
        raise Unsupported(f"The engine's session declares {needs!r} as unsupported.")
    return await probe.update(**session_fields(requested, instructions=instructions, tools=tools))


async def heard_onset(probe: Probe, check: str, said: Said, since: int, prefix_ms: int) -> Frame:
    """`speech_started` for that speech: in time, and at the right place of the engine's clock."""
    limit_ms = probe.limits.max_onset_delay_ms
    expected = f"speech_started within {limit_ms} ms of the speech's onset"
    started = await probe.wait("input_audio_buffer.speech_started", expected, rule=f"{check}.onset", since=since)
    late_ms = probe.timing("onset of speech to speech_started", said.onset_at, started.at) or 0
    probe.expect(late_ms <= limit_ms, f"{check}.onset", expected, f"it came after {late_ms} ms", started.at)
    start = started.get("audio_start_ms")
    if isinstance(start, int | float):
        error_ms = round(start + prefix_ms - said.onset_ms)
        wanted = (
            f"audio_start_ms within {limit_ms} ms of the onset, which is at {said.onset_ms} ms of the engine's clock"
        )
        probe.expect(
            abs(start - said.onset_ms) <= limit_ms, f"{check}.onset_position", wanted, f"came {start}", started.at
        )
        probe.found.grades[f"onset position ({check})"] = f"{error_ms:+d} ms with {prefix_ms} ms of padding"
        heard_at = probe.append_at(round(start) + prefix_ms)
        probe.timing("speech_started behind its audio", heard_at, started.at)
    return started


async def turn_kept(probe: Probe, check: str, item_id: str, since: int) -> None:
    """The turn is committed under the id that `speech_started` gave, and stands in the conversation."""
    within_ms = probe.limits.truncate_ack_timeout_ms
    committed = await probe.seek(
        "input_audio_buffer.committed",
        "the turn to be committed",
        rule=f"{check}.committed",
        since=since,
        within_ms=within_ms,
    )
    if committed is None:
        return
    wanted, came = f"the item_id that speech_started gave ({item_id})", committed.get("item_id")
    probe.expect(came == item_id, f"{check}.turn_id", wanted, f"committed has {came!r}", committed.at)
    await item_told(probe, check, "the turn", since, came)


async def item_told(probe: Probe, check: str, what: str, since: int, item_id: object = None) -> None:
    """An item is added and done: that of `item_id`, or whichever comes. A fault, and no end of the check, where not."""
    for kind in ("conversation.item.added", "conversation.item.done"):
        told = await probe.seek(
            kind,
            f"{kind} for {what}",
            rule=f"{check}.item",
            since=since,
            within_ms=probe.limits.truncate_ack_timeout_ms,
            where=lambda frame: item_id is None or frame.get("item", "id") == item_id,
        )
        if told is None:
            return


async def turn_ended(probe: Probe, check: str, said: Said, started: Frame) -> Frame:
    """`speech_stopped` of the turn, after its speech; and the turn kept. Returns `speech_stopped`."""
    item_id = str(started.get("item_id"))
    since = probe.frames().index(started)
    stopped = await probe.wait(
        "input_audio_buffer.speech_stopped", "speech_stopped after the speech", rule=f"{check}.stopped", since=since
    )
    end = stopped.get("audio_end_ms")
    if isinstance(end, int | float):
        limit_ms = probe.limits.max_onset_delay_ms
        wanted = f"audio_end_ms no more than {limit_ms} ms before the speech's end at {said.end_ms} ms"
        probe.expect(end >= said.end_ms - limit_ms, f"{check}.end_position", wanted, f"came {end}", stopped.at)
        most = probe.appended_ms + CHUNK_MS
        wanted = f"audio_end_ms within the audio that was sent, {most} ms"
        probe.expect(end <= most, f"{check}.end_position", wanted, f"came {end}", stopped.at)
        probe.found.grades[f"end position ({check})"] = f"{round(end - said.end_ms):+d} ms after the last sound"
        probe.timing("speech_stopped behind its audio", probe.append_at(round(end)), stopped.at)
    await turn_kept(probe, check, item_id, since)
    return stopped


async def reply_began(probe: Probe, check: str, since: int) -> str:
    """A response is created; its id."""
    created = await probe.wait("response.created", "a response to be created", rule=f"{check}.reply", since=since)
    return str(created.get("response", "id"))


async def reply_ended(probe: Probe, check: str, response_id: str, *, status: str = "completed") -> Frame:
    """`response.done` of that response, of that status, with usage."""
    done = await probe.wait(
        "response.done",
        f"response.done for {response_id}",
        rule=f"{check}.done",
        within_ms=probe.limits.event_timeout_ms * 4,  # an answer may be long; its pieces are timed elsewhere
        where=lambda frame: frame.get("response", "id") == response_id,
    )
    came = done.get("response", "status")
    probe.expect(came == status, f"{check}.status", f"a response that ends {status!r}", f"it ended {came!r}", done.at)
    if status == "completed":
        usage = done.get("response", "usage")
        counts = [done.get("response", "usage", name) for name in ("total_tokens", "input_tokens", "output_tokens")]
        whole = all(isinstance(count, int) and not isinstance(count, bool) for count in counts)
        wanted = "usage with total_tokens, input_tokens and output_tokens"
        probe.expect(whole, f"{check}.usage", wanted, f"came {str(usage)[:120]}", done.at)
    return done


def spoken_whole(probe: Probe, check: str, response_id: str) -> None:
    """A spoken answer has audio, its end, and the words that were said."""
    audio = probe.frames("response.output_audio.delta", response_id=response_id)
    probe.expect(bool(audio), f"{check}.audio", "audio in the answer", "no response.output_audio.delta came")
    ends = probe.frames("response.output_audio.done", response_id=response_id)
    probe.expect(bool(ends), f"{check}.audio_done", "response.output_audio.done after the audio", "none came")
    words = probe.frames("response.output_audio_transcript.done", response_id=response_id)
    if not probe.expect(bool(words), f"{check}.transcript", "response.output_audio_transcript.done", "none came"):
        return
    text = str(words[-1].get("transcript"))
    probe.expect(
        bool(text.strip()), f"{check}.transcript", "the words of the answer", "the transcript is empty", words[-1].at
    )
    pieces = "".join(
        str(frame.get("delta"))
        for frame in probe.frames("response.output_audio_transcript.delta", response_id=response_id)
    )
    wanted = "transcript deltas that make up the transcript"
    probe.expect(
        pieces.split() == text.split(), f"{check}.transcript", wanted, f"came {pieces[:60]!r} and {text[:60]!r}"
    )


def answer_audio(probe: Probe, response_id: str) -> bytes:
    """The audio of an answer."""
    deltas = probe.frames("response.output_audio.delta", response_id=response_id)
    return b"".join(delta_pcm(frame) or b"" for frame in deltas)


def prefix_of(updated: Frame) -> int:
    """The prefix padding that the session says it has."""
    value = updated.get("session", "audio", "input", "turn_detection", "prefix_padding_ms")
    return round(value) if isinstance(value, int | float) and not isinstance(value, bool) else DEFAULT_PREFIX_MS
