"""Engines that get a spoken turn or its answer wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from realtime_harness.conformance.broken.defects.defect import Filtered, breaks
from realtime_harness.conformance.broken.engine import Event, ScriptedEngine, tone


@breaks("engine_turn", "engine_turn.onset")
class LateOnset(ScriptedEngine):
    """speech_started comes 1.4 s late."""

    async def emit_started(self, ms: int, item_id: str) -> None:
        await self.sleep(1.4)
        await super().emit_started(ms, item_id)


@breaks("engine_turn", "engine_turn.onset")
class SilentOnset(Filtered):
    """Never says speech_started."""

    DROPPED = ("input_audio_buffer.speech_started",)


@breaks("engine_turn", "engine_turn.onset_position")
class OnsetByWallClock(ScriptedEngine):
    """audio_start_ms is the time of day."""

    async def emit_started(self, ms: int, item_id: str) -> None:
        await super().emit_started(int(self.clock.now() * 1000), item_id)


@breaks("engine_turn", "platform.required_field")
class OnsetWithoutPosition(Filtered):
    """speech_started has no audio_start_ms."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"input_audio_buffer.speech_started": {"audio_start_ms": None}}


@breaks("engine_turn", "engine_turn.stopped")
class NeverStops(Filtered):
    """Never says speech_stopped."""

    DROPPED = ("input_audio_buffer.speech_stopped",)


@breaks("engine_turn", "platform.turn_id")
class StopsAnotherTurn(Filtered):
    """speech_stopped names another item than speech_started."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"input_audio_buffer.speech_stopped": {"item_id": "item_other"}}


@breaks("engine_turn", "platform.offset")
class EndsBeforeItBegan(ScriptedEngine):
    """audio_end_ms counts from the turn's start, not from the session's."""

    async def emit_stopped(self, ms: int, item_id: str) -> None:
        await super().emit_stopped(0, item_id)


@breaks("engine_turn", "engine_turn.end_position")
class EndsTooEarly(ScriptedEngine):
    """audio_end_ms is the place where the speech began."""

    began_ms = 0

    async def emit_started(self, ms: int, item_id: str) -> None:
        self.began_ms = ms
        await super().emit_started(ms, item_id)

    async def emit_stopped(self, ms: int, item_id: str) -> None:
        await super().emit_stopped(self.began_ms, item_id)


@breaks("engine_turn", "engine_turn.end_position")
class EndByWallClock(ScriptedEngine):
    """audio_end_ms is the time of day."""

    async def emit_stopped(self, ms: int, item_id: str) -> None:
        await super().emit_stopped(int(self.clock.now() * 1000), item_id)


@breaks("engine_turn", "platform.turn_order")
class BeginsTwice(ScriptedEngine):
    """speech_started comes twice, with another id, in one turn."""

    async def emit_started(self, ms: int, item_id: str) -> None:
        await super().emit_started(ms, self.new_id("item"))
        await super().emit_started(ms, item_id)


@breaks("engine_turn", "platform.json")
class NestsTooDeep(ScriptedEngine):
    """An event is nested a thousand deep."""

    async def keep_turn(self, item_id: str) -> None:
        await self.transport.send('{"type":"x","deep":' + "[" * 1_000 + "]" * 1_000 + "}")
        await super().keep_turn(item_id)


@breaks("engine_turn", "platform.created_first")
class IdsAreObjects(Filtered):
    """response_id is an object."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.output_audio.delta": {"response_id": {"id": 1}}}


@breaks("engine_turn", "engine_turn.turn_id")
class CommitsAnotherTurn(ScriptedEngine):
    """The turn is committed under a new id."""

    async def keep_turn(self, item_id: str) -> None:
        await super().keep_turn(self.new_id("item"))


@breaks("engine_turn", "engine_turn.committed")
class NeverCommits(Filtered):
    """The turn is never committed."""

    DROPPED = ("input_audio_buffer.committed",)


@breaks("engine_turn", "engine_turn.item")
class BetaItems(Filtered):
    """conversation.item.created, the beta's name, in place of added."""

    RENAMED: ClassVar[Mapping[str, str]] = {"conversation.item.added": "conversation.item.created"}


@breaks("engine_turn", "engine_turn.item")
class ItemNeverDone(Filtered):
    """conversation.item.done never comes."""

    DROPPED = ("conversation.item.done",)


@breaks("engine_turn", "engine_turn.reply")
class NeverReplies(ScriptedEngine):
    """Hears a turn and does not answer it."""

    def reply_to_turn(self) -> None:
        pass


@breaks("engine_turn", "engine_turn.response_start")
class SlowToAnswer(ScriptedEngine):
    """The answer begins seven seconds after the speech."""

    THINKING_S = 7.0


@breaks("engine_turn", "platform.delta_too_long")
class DeltaOf2001Ms(ScriptedEngine):
    """One delta carries 2001 ms of audio."""

    DELTA_MS = 2_001
    AHEAD_MS = 2_500


@breaks("engine_turn", "platform.whole_samples")
class HalfSamples(ScriptedEngine):
    """Deltas end in the middle of a sample."""

    async def emit_audio(self, response_id: str, item_id: str, pcm: bytes) -> None:
        await super().emit_audio(response_id, item_id, pcm[:-1])


@breaks("engine_turn", "platform.audio_base64")
class AudioAsHex(ScriptedEngine):
    """Deltas are hexadecimal."""

    async def emit_audio(self, response_id: str, item_id: str, pcm: bytes) -> None:
        hexed = f"0x{pcm[:20].hex()}!"
        await self.emit("response.output_audio.delta", response_id=response_id, item_id=item_id, delta=hexed)


@breaks("engine_turn", "platform.required_field")
class DeltaWithoutItem(Filtered):
    """Deltas do not say which item they belong to."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.output_audio.delta": {"item_id": None}}


@breaks("engine_turn", "engine_turn.transcript")
class NoTranscript(Filtered):
    """A spoken answer without its words."""

    DROPPED = ("response.output_audio_transcript.done", "response.output_audio_transcript.delta")


@breaks("engine_turn", "engine_turn.transcript")
class TranscriptOfSomethingElse(Filtered):
    """The whole transcript is not what its pieces said."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.output_audio_transcript.done": {"transcript": "Thank you."}}


@breaks("engine_turn", "engine_turn.audio")
class WordsOnly(Filtered):
    """Answers in text where audio was asked for."""

    DROPPED = ("response.output_audio.delta", "response.output_audio.done")


@breaks("engine_turn", "engine_turn.audio_done")
class AudioNeverDone(Filtered):
    """response.output_audio.done never comes."""

    DROPPED = ("response.output_audio.done",)


@breaks("engine_turn", "engine_turn.usage")
class NoUsage(ScriptedEngine):
    """response.done has no usage."""

    def usage(self) -> Event | None:
        return None


@breaks("engine_turn", "engine_turn.usage")
class EmptyUsage(ScriptedEngine):
    """The usage has no counts."""

    def usage(self) -> Event | None:
        return {}


@breaks("engine_turn", "engine_turn.status")
class EndsIncomplete(ScriptedEngine):
    """A whole answer ends 'incomplete'."""

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        await super().done(response_id, "incomplete" if status == "completed" else status, reason)


@breaks("engine_turn", "engine_turn.done")
class NeverDone(Filtered):
    """response.done never comes."""

    DROPPED = ("response.done",)


@breaks("engine_turn", "platform.one_done")
class DoneTwice(ScriptedEngine):
    """response.done comes twice."""

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        await super().done(response_id, status, reason)
        await super().done(response_id, status, reason)


@breaks("engine_turn", "platform.after_done")
class DoneBeforeTheEnd(ScriptedEngine):
    """response.done comes before the last audio."""

    async def close_audio(self, response_id: str, item_id: str, words: str) -> None:
        await self.done(response_id, "completed")
        await self.emit_audio(response_id, item_id, tone(0, 100))
        await super().close_audio(response_id, item_id, words)


@breaks("engine_turn", "platform.created_first")
class NeverCreated(Filtered):
    """An answer comes without response.created."""

    DROPPED = ("response.created",)


@breaks("engine_turn", "platform.audio_order")
class AudioAfterItsEnd(ScriptedEngine):
    """A delta comes after response.output_audio.done."""

    async def close_audio(self, response_id: str, item_id: str, words: str) -> None:
        await super().close_audio(response_id, item_id, words)
        await self.emit_audio(response_id, item_id, tone(0, 100))


@breaks("engine_turn", "engine_turn.unasked")
class AnswersTwice(ScriptedEngine):
    """Goes on with a second answer by itself."""

    async def after_reply(self) -> None:
        self.start(self.spoken_reply())


@breaks("engine_turn", "platform.one_response")
class TwoAnswersAtOnce(ScriptedEngine):
    """Opens a second response while the first is open."""

    async def open_response(self, *, spoken: bool) -> str:
        await super().open_response(spoken=spoken)
        return await super().open_response(spoken=spoken)


@breaks("engine_turn", "platform.response_id")
class OneIdForAll(ScriptedEngine):
    """Every response has the same id."""

    def new_id(self, kind: str) -> str:
        return "resp_1" if kind == "resp" else super().new_id(kind)

    async def after_reply(self) -> None:
        self.start(self.spoken_reply())
