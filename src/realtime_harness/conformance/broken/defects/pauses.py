"""Engines that get a pause in listening wrong."""

from __future__ import annotations

from realtime_harness.conformance.broken.defects.defect import breaks
from realtime_harness.conformance.broken.ears import Edge
from realtime_harness.conformance.broken.engine import Event, ScriptedEngine

# --- listening_pause --------------------------------------------------------------------------------------------------


@breaks("listening_pause", "listening_pause.turn_id")
class PauseIsAnotherTurn(ScriptedEngine):
    """The commit in a pause makes a turn of a new id."""

    async def commit(self) -> None:
        self.turn = None
        await super().commit()


@breaks("listening_pause", "listening_pause.no_reply")
class AnswersTheCommit(ScriptedEngine):
    """The commit in a pause is answered."""

    async def commit(self) -> None:
        await super().commit()
        self.start(self.spoken_reply())


@breaks("listening_pause", "listening_pause.committed")
class CommitIgnored(ScriptedEngine):
    """The commit in a pause does nothing."""

    async def commit(self) -> None:
        pass


@breaks("listening_pause", "platform.error")
class CommitNotImplemented(ScriptedEngine):
    """The commit in a pause is an error."""

    async def commit(self) -> None:
        await self.error("not_implemented", "Committing by hand is not implemented.")


@breaks("listening_pause", "platform.error")
class PauseDropsAudio(ScriptedEngine):
    """Turn detection off throws the audio away that the commit is for."""

    async def stop_listening(self) -> None:
        await super().stop_listening()
        self.uncommitted_ms = 0


@breaks("listening_pause", "listening_pause.off")
class NullIsAbsent(ScriptedEngine):
    """turn_detection null is taken for a field that is not there."""

    def merge(self, patch: Event) -> None:
        audio = patch.get("audio", {})
        heard = {key: value for key, value in audio.get("input", {}).items() if value is not None}
        super().merge({**patch, "audio": {**audio, "input": heard}} if audio else patch)


@breaks("listening_pause", "listening_pause.onset_position")
class ClockRunsOn(ScriptedEngine):
    """After a pause, offsets still count from the session's start."""

    before_ms = 0

    def listen_anew(self) -> None:
        self.before_ms += self.ears.heard_ms if self.ears is not None else self.last_ms
        super().listen_anew()

    last_ms = 0

    async def stop_listening(self) -> None:
        self.last_ms = self.ears.heard_ms if self.ears is not None else 0
        await super().stop_listening()

    async def emit_started(self, ms: int, item_id: str) -> None:
        await super().emit_started(ms + self.before_ms, item_id)

    async def emit_stopped(self, ms: int, item_id: str) -> None:
        await super().emit_stopped(ms + self.before_ms, item_id)


@breaks("listening_pause", "listening_pause.new_turn")
class OneTurnForBoth(ScriptedEngine):
    """What is said after a pause goes on in the turn from before it."""

    old: str | None = None

    async def stop_listening(self) -> None:
        self.old = self.turn
        await super().stop_listening()

    async def started(self, edge: Edge) -> None:
        self.turn = self.old or self.new_id("item")
        await self.emit_started(edge.ms, self.turn)


@breaks("listening_pause", "listening_pause.onset")
class DeafAfterPause(ScriptedEngine):
    """Turn detection is on again, and nothing is heard any more."""

    paused = False

    async def stop_listening(self) -> None:
        self.paused = True
        await super().stop_listening()

    async def append(self, pcm: bytes) -> None:
        if not self.paused:
            await super().append(pcm)


@breaks("listening_pause", "listening_pause.item")
class PauseLosesItem(ScriptedEngine):
    """The turn of a pause is committed, and never stands in the conversation."""

    async def keep_turn(self, item_id: str) -> None:
        if self.turn_detection is None:
            await self.emit("input_audio_buffer.committed", item_id=item_id)
        else:
            await super().keep_turn(item_id)


# --- listening_pause_silent -------------------------------------------------------------------------------------------


@breaks("listening_pause_silent", "listening_pause_silent.onset_position")
class ClockNeedsCommit(ClockRunsOn):
    """The clock starts again only where the pause had a commit."""

    async def commit(self) -> None:
        await super().commit()
        self.before_ms = self.last_ms = 0


@breaks("listening_pause_silent", "listening_pause_silent.no_turn")
class PhantomTurn(ScriptedEngine):
    """A silent pause leaves a turn behind."""

    async def stop_listening(self) -> None:
        await super().stop_listening()
        if self.turn is None:
            await self.keep_turn(self.new_id("item"))


@breaks("listening_pause_silent", "listening_pause_silent.no_turn")
class AnswersThePause(ScriptedEngine):
    """Turn detection off makes it speak."""

    async def stop_listening(self) -> None:
        await super().stop_listening()
        if self.turn is None:
            self.start(self.spoken_reply())


@breaks("listening_pause_silent", "platform.offset")
class NegativeOnset(ScriptedEngine):
    """The padding is taken off the onset although there is nothing before it."""

    async def emit_started(self, ms: int, item_id: str) -> None:
        await super().emit_started(ms - 900, item_id)


@breaks("listening_pause_silent", "listening_pause_silent.on")
class NeverOnAgain(ScriptedEngine):
    """Once off, turn detection stays off."""

    off = False

    async def stop_listening(self) -> None:
        self.off = True
        await super().stop_listening()

    def merge(self, patch: Event) -> None:
        super().merge(patch)
        if self.off:
            self.session["audio"]["input"]["turn_detection"] = None


@breaks("listening_pause_silent", "listening_pause_silent.reply")
class SilentAfterPause(ScriptedEngine):
    """What is said after a silent pause is heard, and not answered."""

    paused = False

    async def stop_listening(self) -> None:
        self.paused = self.turn is None
        await super().stop_listening()

    def reply_to_turn(self) -> None:
        if not self.paused:
            super().reply_to_turn()
