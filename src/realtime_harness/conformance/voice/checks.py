"""The ten checks. Each opens a session, does what a platform does, and puts down what breaks a rule.

Source: agent-spec 0.2.0, `conformance.checks` and `thresholds`; HRP 0.2.0. What is graded but no fault is named a grade.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from realtime_harness.client.timings import loud_span
from realtime_harness.conformance.frames import Event, Frame
from realtime_harness.conformance.speech import clip
from realtime_harness.conformance.voice.platform import BYTES_PER_MS, audio_bytes, call_arguments
from realtime_harness.conformance.voice.probe import AUDIO_FORMAT, Probe
from realtime_harness.conformance.voice.steps import (
    AUDIO_EVENTS,
    answer_audio,
    heard_onset,
    item_told,
    open_session,
    prefix_of,
    reply_began,
    reply_ended,
    session_fields,
    spoken_whole,
    turn_detection,
    turn_ended,
    turn_kept,
)
from realtime_harness.conformance.voice.study import (
    ACCEPTED,
    COLOURS,
    GUIDED,
    INFORMED,
    SCALE_HIGH,
    SCALE_LOW,
    STORYTELLER,
    STUDY_TOOLS,
    WEATHER,
    WEATHER_TOOL,
    colour_question,
    picture_screen,
    scale_question,
    story_request,
)
from realtime_harness.hyperstudy.client_events import silent_answer
from realtime_harness.hyperstudy.contract import VoiceTool

QUIET_MS = 600  # of the room before somebody speaks
INTO_THE_ANSWER_MS = 400
SILENT_PAUSE_AFTER_MS = 2_400
OTHER_SILENCE_MS = 650

CheckRun = Callable[[Probe, Event], Awaitable[None]]


async def handshake(probe: Probe, requested: Event) -> None:
    """The session's formats, both ways; and an update of the instructions alone, which keeps everything else."""
    created = await probe.wait("session.created", "session.created when the connection opens", rule="session.created")
    probe.expect(
        isinstance(created.get("session"), dict),
        "handshake.session",
        "a session object in session.created",
        "it has none",
    )
    unlike_any_default = {**requested, "silence_duration_ms": OTHER_SILENCE_MS}  # so that a reset of it is seen
    updated = await probe.update(**session_fields(unlike_any_default))
    for way in ("input", "output"):
        came = updated.get("session", "audio", way, "format")
        wanted = f"audio.{way}.format of {AUDIO_FORMAT}"
        right = isinstance(came, dict) and AUDIO_FORMAT.items() <= cast("Event", came).items()
        probe.expect(right, f"handshake.{way}_format", wanted, f"came {came!r}", updated.at)
    guided = await probe.update(instructions=GUIDED)
    came = guided.get("session", "instructions")
    probe.expect(
        came == GUIDED, "handshake.instructions", "the new instructions", f"came {str(came)[:80]!r}", guided.at
    )
    for name, before, after in (
        ("tools", _tool_names(updated), _tool_names(guided)),
        ("audio", updated.get("session", "audio"), guided.get("session", "audio")),
        ("tool_choice", updated.get("session", "tool_choice"), guided.get("session", "tool_choice")),
        ("output_modalities", updated.get("session", "output_modalities"), guided.get("session", "output_modalities")),
    ):
        wanted = f"an update of the instructions alone to keep {name}"
        probe.expect(
            before == after, "handshake.kept", wanted, f"it was {str(before)[:80]}, then {str(after)[:80]}", guided.at
        )
    if sorted(map(str, _tool_names(updated))) != sorted(tool["name"] for tool in STUDY_TOOLS):
        probe.found.notes.append("session.updated does not show the declared tools; the profile does not ask for it.")


async def engine_turn(probe: Probe, requested: Event) -> None:
    """One spoken question and its whole spoken answer."""
    check = "engine_turn"
    updated = await open_session(probe, requested, needs=str(requested["type"]))
    probe.open_microphone()
    await probe.pause(QUIET_MS)
    since = probe.mark()
    said = await probe.say(clip("question"))
    started = await heard_onset(probe, check, said, since, prefix_of(updated))
    stopped = await turn_ended(probe, check, said, started)
    response_id = await reply_began(probe, check, since)
    first = await probe.wait(
        "response.output_audio.delta",
        "audio in the answer",
        rule=f"{check}.audio",
        since=since,
        where=lambda frame: frame.get("response_id") == response_id,
    )
    after_speech_ms = probe.timing("end of speech to first audio", said.end_at, first.at) or 0
    after_stop_ms = probe.timing("speech_stopped to first audio", stopped.at, first.at) or 0
    semantic = requested["type"] == "semantic_vad"  # which may rightly wait to see whether the speaker goes on
    waited_ms = after_stop_ms if semantic else after_speech_ms
    limit_ms = probe.limits.max_response_start_ms
    since_when = "speech_stopped" if semantic else "the end of the speech"
    wanted = f"audio within {limit_ms} ms of {since_when}"
    probe.expect(waited_ms <= limit_ms, f"{check}.response_start", wanted, f"it came after {waited_ms} ms", first.at)
    await reply_ended(probe, check, response_id)
    spoken_whole(probe, check, response_id)
    lead_ms, _ = loud_span(answer_audio(probe, response_id))
    probe.found.timings_ms["silence before the first word"] = lead_ms
    await probe.nothing(
        ("response.created",),
        "one answer to one turn",
        rule=f"{check}.unasked",
        since=_after(probe, "response.created", since),
        within_ms=probe.limits.no_reply_window_ms,
    )


async def barge_in(probe: Probe, requested: Event) -> None:
    """Speech into a long answer; then a truncate at what was heard."""
    check = "barge_in"
    updated = await open_session(probe, requested, needs=str(requested["type"]), instructions=STORYTELLER)
    probe.open_microphone()
    response_id, first = await begin_story(probe, check)
    await probe.pause(INTO_THE_ANSWER_MS)
    since = probe.mark()
    said = await probe.say(clip("interruption"))
    ended = [frame for frame in probe.frames("response.done")[:1] if frame.at < said.onset_at]
    if ended:
        sent_ms, took_ms = _audio_ms(probe, response_id), round((ended[0].at - first.at) * 1000)
        wanted = "a long answer that is still going on, so that it can be interrupted"
        probe.fault(
            f"{check}.still_talking", wanted, f"it was over: {sent_ms} ms of audio in {took_ms} ms", ended[0].at
        )
        return
    started = await heard_onset(probe, check, said, since, prefix_of(updated))
    by_itself = [frame for frame in probe.frames("response.done")[:1] if frame.at < started.at]
    if by_itself and by_itself[0].get("response", "status") == "completed":
        wanted = "a long answer that is still going on, so that it can be interrupted"
        probe.fault(f"{check}.still_talking", wanted, "it ended by itself as the interruption began", by_itself[0].at)
        return
    limit_ms = probe.limits.max_cancel_to_done_ms
    expected = f"the answer to end within {limit_ms} ms of speech_started"
    done = await probe.wait(
        "response.done",
        expected,
        rule=f"{check}.cancelled",
        where=lambda frame: frame.get("response", "id") == response_id,
    )
    took_ms = probe.timing("speech_started to response.done", started.at, done.at) or 0
    frames = probe.frames()
    wanted = "speech_started before the answer's response.done"
    probe.expect(
        frames.index(started) < frames.index(done), f"{check}.order", wanted, "response.done came first", done.at
    )
    probe.expect(took_ms <= limit_ms, f"{check}.cancelled", expected, f"it ended after {took_ms} ms", done.at)
    status = done.get("response", "status")
    probe.expect(
        status == "cancelled", f"{check}.status", "a response that ends 'cancelled'", f"it ended {status!r}", done.at
    )
    audio = probe.frames("response.output_audio.delta", response_id=response_id)
    between = [frame for frame in audio if started.at < frame.at and frames.index(frame) > frames.index(started)]
    probe.found.grades["audio after speech_started"] = f"{sum(map(_delta_ms, between))} ms"
    probe.timing("onset of interruption to last audio", said.onset_at, max(audio[-1].at, said.onset_at))
    await _truncate(probe, audio, first, started)
    await turn_ended(probe, check, said, started)
    await reply_began(probe, check, frames.index(done))
    late = [
        frame for frame in probe.frames("response.output_audio.delta", response_id=response_id) if frame.at > done.at
    ]
    probe.expect(
        not late, f"{check}.audio_after", "no audio of an answer that was cancelled", f"{len(late)} deltas came"
    )


async def _truncate(probe: Probe, audio: list[Frame], first: Frame, started: Frame) -> None:
    """Cuts the answer at what was heard, and grades the acknowledgement."""
    item_id = str(first.get("item_id"))
    sent_ms = sum(_delta_ms(frame) for frame in audio)
    heard_ms = max(0, min(sent_ms, int((started.at - first.at) * 1000)))
    since = probe.mark()
    probe.errors_are_answers = True  # graded, and a fault only where grades are strict
    await probe.send(type="conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=heard_ms)
    frame = await probe.first_of(
        ("conversation.item.truncated", "error"),
        "an answer to the truncate",
        since=since,
        within_ms=probe.limits.truncate_ack_timeout_ms,
    )
    probe.errors_are_answers = False
    grade = "none"
    if frame is not None and frame.type == "error":
        grade = "error"
    elif frame is not None:
        at = frame.get("audio_end_ms")
        right = frame.get("item_id") == item_id
        grade = "exact" if right and at == heard_ms else "clamped" if right and at == sent_ms < heard_ms else "differs"
    probe.found.grades["truncate"] = grade


async def listening_pause(probe: Probe, requested: Event) -> None:
    """Turn detection off in the middle of a sentence, the turn committed; then on again, and a new turn."""
    check = "listening_pause"
    asked = turn_detection(requested)
    updated = await open_session(probe, requested, needs=str(requested["type"]))
    prefix_ms = prefix_of(updated)
    probe.open_microphone()
    await probe.pause(QUIET_MS)
    since = probe.mark()
    said = await probe.say(clip("cut_sentence"))
    probe.close_microphone()
    started = await heard_onset(probe, check, said, since, prefix_ms)
    item_id = str(started.get("item_id"))
    off_since = probe.mark()
    off = await probe.listen(on=False, turn_detection=None)
    await probe.send(type="input_audio_buffer.commit")
    value = off.get("session", "audio", "input", "turn_detection")
    probe.expect(value is None, f"{check}.off", "turn_detection null in session.updated", f"came {value!r}", off.at)
    await turn_kept(probe, check, item_id, off_since)
    await probe.nothing(
        ("response.created",),
        "no reply to a turn that was cut off",
        rule=f"{check}.no_reply",
        since=since,
        within_ms=probe.limits.no_reply_window_ms,
    )
    await _heard_again(probe, check, asked, prefix_ms, item_id)


async def listening_pause_silent(probe: Probe, requested: Event) -> None:
    """Turn detection off and on again while nobody speaks; then a turn."""
    check = "listening_pause_silent"
    asked = turn_detection(requested)
    updated = await open_session(probe, requested, needs=str(requested["type"]))
    probe.open_microphone()
    await probe.pause(SILENT_PAUSE_AFTER_MS)
    since = probe.mark()
    off = await probe.listen(on=False, turn_detection=None)
    value = off.get("session", "audio", "input", "turn_detection")
    probe.expect(value is None, f"{check}.off", "turn_detection null in session.updated", f"came {value!r}", off.at)
    await probe.nothing(
        ("response.created", "input_audio_buffer.committed", "input_audio_buffer.speech_started"),
        "nothing to be made of a silent pause",
        rule=f"{check}.no_turn",
        since=since,
        within_ms=probe.limits.no_reply_window_ms,
    )
    await _heard_again(probe, check, asked, prefix_of(updated), "")


async def _heard_again(probe: Probe, check: str, asked: Event, prefix_ms: int, old_item_id: str) -> None:
    """Turn detection is on again: the next speech is a new turn, timed from the switch, and answered."""
    since = probe.mark()
    on = await probe.listen(on=True, turn_detection=asked)
    came = on.get("session", "audio", "input", "turn_detection")
    probe.expect(
        isinstance(came, dict), f"{check}.on", "turn detection on again in session.updated", f"came {came!r}", on.at
    )
    await probe.pause(QUIET_MS)
    said = await probe.say(clip("question"))
    started = await heard_onset(probe, check, said, since, prefix_ms)
    item_id = str(started.get("item_id"))
    probe.expect(
        item_id != old_item_id,
        f"{check}.new_turn",
        "a new item_id for the next turn",
        f"{item_id} came again",
        started.at,
    )
    await turn_ended(probe, check, said, started)
    created = [frame for frame in probe.frames("response.created", since) if frame.at < started.at]
    probe.expect(not created, f"{check}.no_reply", "no reply before the next turn", "one was created")
    await reply_began(probe, check, since)


async def cancel(probe: Probe, requested: Event) -> None:
    """A long answer that the platform stops."""
    check = "cancel"
    await open_session(probe, requested, instructions=STORYTELLER)
    response_id, first = await begin_story(probe, check)
    await probe.pause(INTO_THE_ANSWER_MS)
    since = probe.mark()
    sent_at = await probe.send(type="response.cancel", response_id=response_id)
    limit_ms = probe.limits.max_cancel_to_done_ms
    expected = f"response.done within {limit_ms} ms of response.cancel"
    done = await probe.wait(
        "response.done", expected, rule=f"{check}.done", where=lambda frame: frame.get("response", "id") == response_id
    )
    if done.at < sent_at:
        took_ms = round((done.at - first.at) * 1000)
        wanted = "a long answer that is still going on, so that it can be cancelled"
        probe.fault(f"{check}.still_talking", wanted, f"it was over in {took_ms} ms", done.at)
        return
    took_ms = probe.timing("response.cancel to response.done", sent_at, done.at) or 0
    probe.expect(took_ms <= limit_ms, f"{check}.done", expected, f"it came after {took_ms} ms", done.at)
    status = done.get("response", "status")
    probe.expect(
        status == "cancelled", f"{check}.status", "a response that ends 'cancelled'", f"it ended {status!r}", done.at
    )
    await probe.nothing(
        ("response.output_audio.delta", "response.created"),
        "no audio after a cancelled answer, and no new answer",
        rule=f"{check}.audio_after",
        since=_after(probe, "response.done", since),
        within_ms=probe.limits.no_reply_window_ms,
    )


async def function_call(probe: Probe, requested: Event) -> None:
    """A spoken question that needs a tool; its output; the answer that takes it up."""
    check = "function_call"
    tools = (*STUDY_TOOLS, WEATHER_TOOL)
    await open_session(probe, requested, instructions=INFORMED, tools=tools)
    probe.open_microphone()
    await probe.pause(QUIET_MS)
    since = probe.mark()
    said = await probe.say(clip("tool_question"))
    response_id = await reply_began(probe, check, since)
    done = await reply_ended(probe, check, response_id)
    calls = probe.frames("response.function_call_arguments.done", response_id=response_id)
    words = [str(frame.get("transcript")) for frame in probe.frames("response.output_audio_transcript.done", since)]
    if not probe.expect(
        bool(calls), f"{check}.called", "a call of get_weather", f"none came; it said {words}", done.at
    ):
        return
    probe.timing("end of speech to the call", said.end_at, calls[0].at)
    for call in calls:
        name = call.get("name")
        probe.expect(name == "get_weather", f"{check}.name", "a call of get_weather", f"came {name!r}", call.at)
        city = (call_arguments(call) or {}).get("city")
        fits = isinstance(city, str) and set(call_arguments(call) or {}) == {"city"}
        probe.expect(
            fits,
            f"{check}.arguments",
            "arguments that fit the tool: {city}",
            f"came {str(call.get('arguments'))[:80]}",
            call.at,
        )
    since = probe.mark()
    for call in calls:
        output = {"type": "function_call_output", "call_id": call.get("call_id"), "output": WEATHER}
        await probe.tell(output)
    quiet = await probe.nothing(
        ("response.created",),
        "no reply to a function output before response.create",
        rule=f"{check}.unasked",
        since=since,
        within_ms=probe.limits.no_reply_window_ms,
    )
    if not quiet:
        return
    await probe.send(type="response.create", response={"output_modalities": ["audio"]})
    follow_up = await reply_began(probe, f"{check}.follow_up", since)
    await reply_ended(probe, f"{check}.follow_up", follow_up)
    spoken_whole(probe, f"{check}.follow_up", follow_up)


async def silent_tool(probe: Probe, requested: Event) -> None:
    """A question on the screen, answered by exactly one call and no sound."""
    check = "silent_tool"
    await open_session(probe, requested, needs="silent_tool")
    arguments = await _answer_silently(probe, check, [scale_question()], "answer_scale")
    if arguments is None:
        return
    value = arguments.get("value")
    number = isinstance(value, int | float) and not isinstance(value, bool) and set(arguments) == {"value"}
    probe.expect(number, f"{check}.arguments", "arguments that fit the tool: {value: a number}", f"came {arguments}")
    if isinstance(value, int | float) and not SCALE_LOW <= value <= SCALE_HIGH:
        probe.found.notes.append(f"A platform would refuse the answer {value}: the scale goes from 0 to 100.")


async def image_context(probe: Probe, requested: Event) -> None:
    """A picture on the screen, and a silent question about its colour."""
    check = "image_context"
    await open_session(probe, requested, needs="input_image")
    arguments = await _answer_silently(probe, check, [picture_screen(), colour_question()], "answer_choice")
    if arguments is not None:
        seen = arguments.get("choice")
        probe.expect(seen == "red", f"{check}.seen", f"the answer 'red' of {list(COLOURS)}", f"came {seen!r}")


async def _answer_silently(probe: Probe, check: str, items: list[Event], tool: VoiceTool) -> dict[str, Any] | None:
    """Sends the items and asks for a silent answer by that tool; the arguments of its one call."""
    start = probe.mark()
    for item in items:
        since = probe.mark()
        await probe.tell(item)
        await item_told(probe, check, "the context item", since)
    await probe.nothing(
        ("response.created",),
        "no reply to a context item",
        rule=f"{check}.unasked",
        since=start,
        within_ms=probe.limits.no_reply_window_ms,
    )
    since = probe.mark()
    sent_at = await probe.send(**silent_answer(tool))
    response_id = await reply_began(probe, check, since)
    done = await reply_ended(probe, check, response_id)
    probe.timing("response.create to response.done", sent_at, done.at)
    calls = probe.frames("response.function_call_arguments.done", since)
    names = [call.get("name") for call in calls]
    probe.expect(
        names == [tool], f"{check}.one_call", f"exactly one call, of {tool}", f"came {names or 'none'}", done.at
    )
    if not calls:
        return None
    output = {"type": "function_call_output", "call_id": calls[0].get("call_id"), "output": ACCEPTED}
    await probe.tell(output)
    await probe.nothing(
        ("response.created",),
        "nothing said after an accepted answer",
        rule=f"{check}.unasked",
        since=_after(probe, "response.done", since),
        within_ms=probe.limits.no_reply_window_ms,
    )
    sounds = [frame for kind in AUDIO_EVENTS for frame in probe.frames(kind, since)]
    kinds = sorted({frame.type for frame in sounds})
    probe.expect(not sounds, f"{check}.silent", "no audio and no transcript in a silent answer", f"came {kinds}")
    return call_arguments(calls[0])


async def turn_detection_fields(probe: Probe, requested: Event) -> None:
    """Every field of turn detection that was asked for comes back, and stays through updates of other things."""
    check = "turn_detection_fields"
    asked = turn_detection(requested)
    updated = await open_session(probe, requested, needs=str(requested["type"]))
    _same_fields(probe, check, asked, updated, "as they were asked for")
    guided = await probe.update(instructions=GUIDED)
    _same_fields(probe, check, asked, guided, "as they were, after an update of the instructions alone")
    formatted = await probe.update(audio={"input": {"format": AUDIO_FORMAT}})
    _same_fields(probe, check, asked, formatted, "as they were, after an update of audio.input.format alone")
    await probe.listen(on=False, turn_detection=None)
    again = await probe.listen(on=True, turn_detection=asked)
    _same_fields(probe, check, asked, again, "as they were asked for, after a pause")


def _same_fields(probe: Probe, check: str, asked: Event, updated: Frame, when: str) -> None:
    came: Any = updated.get("session", "audio", "input", "turn_detection")
    kept = cast("Event", came) if isinstance(came, dict) else {}
    for name, value in asked.items():
        given = kept.get(name)
        same = given == value and isinstance(given, bool) == isinstance(value, bool)  # 500.0 is 500, and 1 is not true
        probe.expect(same, f"{check}.{name}", f"{name} of {value!r} {when}", f"came {kept.get(name)!r}", updated.at)


async def begin_story(probe: Probe, check: str) -> tuple[str, Frame]:
    """A long answer, begun by a typed request; its id and its first audio."""
    await probe.tell(story_request())
    since = probe.mark()
    await probe.send(type="response.create", response={"output_modalities": ["audio"]})
    response_id = await reply_began(probe, check, since)
    first = await probe.wait(
        "response.output_audio.delta",
        "audio in the answer",
        rule=f"{check}.audio",
        since=since,
        where=lambda frame: frame.get("response_id") == response_id,
    )
    return response_id, first


def _after(probe: Probe, kind: str, since: int) -> int:
    """The place behind the first event of that type from that place on."""
    frames = probe.frames()
    return next((place + 1 for place in range(since, len(frames)) if frames[place].type == kind), len(frames))


def _delta_ms(frame: Frame) -> int:
    return (audio_bytes(frame) or 0) // BYTES_PER_MS


def _audio_ms(probe: Probe, response_id: str) -> int:
    return sum(_delta_ms(frame) for frame in probe.frames("response.output_audio.delta", response_id=response_id))


def _tool_names(updated: Frame) -> list[Any]:
    tools: Any = updated.get("session", "tools")
    return [tool.get("name") if isinstance(tool, dict) else tool for tool in tools] if isinstance(tools, list) else []  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


RUNS: Mapping[str, CheckRun] = MappingProxyType(
    {
        "handshake": handshake,
        "engine_turn": engine_turn,
        "barge_in": barge_in,
        "listening_pause": listening_pause,
        "listening_pause_silent": listening_pause_silent,
        "cancel": cancel,
        "function_call": function_call,
        "silent_tool": silent_tool,
        "image_context": image_context,
        "turn_detection_fields": turn_detection_fields,
    }
)
