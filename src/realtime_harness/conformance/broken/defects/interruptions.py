"""Engines that do not stop as they must: for an interruption, or when they are told to."""

from __future__ import annotations

import asyncio

from realtime_harness.conformance.broken.defects.defect import Filtered, breaks
from realtime_harness.conformance.broken.ears import Edge
from realtime_harness.conformance.broken.engine import ScriptedEngine, tone

# --- barge_in ---------------------------------------------------------------------------------------------------------


@breaks("barge_in", "barge_in.cancelled")
class TalksOn(ScriptedEngine):
    """Hears the interruption and talks on."""

    async def started(self, edge: Edge) -> None:
        self.turn = self.new_id("item")
        await self.emit_started(edge.ms, self.turn)


@breaks("barge_in", "barge_in.order")
class DoneBeforeOnset(ScriptedEngine):
    """The answer is cancelled before speech_started is said."""

    async def started(self, edge: Edge) -> None:
        self.turn = self.new_id("item")
        if self.active is not None and self.spoken:
            await self.stop_reply("turn_detected")
        await self.emit_started(edge.ms, self.turn)


@breaks("barge_in", "barge_in.cancelled")
class CancelsLate(ScriptedEngine):
    """The answer goes on for 2.2 s after the interruption."""

    async def started(self, edge: Edge) -> None:
        self.turn = self.new_id("item")
        await self.emit_started(edge.ms, self.turn)
        if self.active is not None and self.spoken:
            task = asyncio.create_task(self.later())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def later(self) -> None:
        await self.sleep(2.2)
        await self.stop_reply("turn_detected")


@breaks("barge_in", "platform.after_done")
class LateDeltas(ScriptedEngine):
    """Audio of the cancelled answer still comes."""

    async def stop_reply(self, reason: str) -> None:
        response_id, item_id = self.active or "", self.active_item or ""
        await super().stop_reply(reason)
        await self.emit_audio(response_id, item_id, tone(0, 100))


@breaks("barge_in", "barge_in.status")
class CancelledIsCompleted(ScriptedEngine):
    """An interrupted answer ends 'completed'."""

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        await super().done(response_id, "completed")


@breaks("barge_in", "barge_in.onset")
class DeafWhileTalking(ScriptedEngine):
    """Does not listen while it talks."""

    async def append(self, pcm: bytes) -> None:
        if self.active is None:
            await super().append(pcm)


@breaks("barge_in", "barge_in.reply")
class ForgetsTheInterruption(ScriptedEngine):
    """Stops for an interruption, and never answers it."""

    interrupted = False

    async def stop_reply(self, reason: str) -> None:
        self.interrupted = True
        await super().stop_reply(reason)

    def reply_to_turn(self) -> None:
        if not self.interrupted:
            super().reply_to_turn()


@breaks("barge_in", "barge_in.still_talking")
class AllAtOnce(ScriptedEngine):
    """Sends a whole answer at once, so that nothing is left to interrupt."""

    AHEAD_MS = 60_000


@breaks("barge_in", "barge_in.truncate", strict=True)
class TruncateIgnored(Filtered):
    """conversation.item.truncate is taken and never acknowledged."""

    DROPPED = ("conversation.item.truncated",)


@breaks("barge_in", "barge_in.truncate", strict=True)
class TruncateRefused(ScriptedEngine):
    """conversation.item.truncate is an error once the answer is over."""

    async def truncate(self, item_id: str, ms: int) -> None:
        await self.error("invalid_value", "The item is already complete.")


@breaks("barge_in", "barge_in.truncate", strict=True)
class TruncateElsewhere(ScriptedEngine):
    """The truncate is acknowledged at another place."""

    async def truncate(self, item_id: str, ms: int) -> None:
        await super().truncate(item_id, ms // 2)


# --- cancel -----------------------------------------------------------------------------------------------------------


@breaks("cancel", "cancel.done")
class CancelIgnored(ScriptedEngine):
    """response.cancel does nothing."""

    async def cancel(self, response_id: str | None) -> None:
        pass


@breaks("cancel", "cancel.done")
class CancelIsSlow(ScriptedEngine):
    """An answer ends two seconds after response.cancel."""

    async def cancel(self, response_id: str | None) -> None:
        await self.sleep(2.0)
        await super().cancel(response_id)


@breaks("cancel", "platform.after_done")
class AudioAfterCancel(ScriptedEngine):
    """Audio that was on its way is still sent after response.done."""

    async def cancel(self, response_id: str | None) -> None:
        active, item_id = self.active or "", self.active_item or ""
        await super().cancel(response_id)
        await self.sleep(0.4)
        await self.emit_audio(active, item_id, tone(0, 100))


@breaks("cancel", "cancel.status")
class CancelCompletes(ScriptedEngine):
    """A cancelled answer ends 'completed'."""

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        await super().done(response_id, "completed" if reason == "client_cancelled" else status)


@breaks("cancel", "platform.error")
class CancelUnsupported(ScriptedEngine):
    """response.cancel is an error."""

    async def cancel(self, response_id: str | None) -> None:
        await self.error("invalid_event", "response.cancel is not supported.")


@breaks("cancel", "cancel.audio_after")
class StartsOver(ScriptedEngine):
    """A cancelled answer is given anew."""

    async def cancel(self, response_id: str | None) -> None:
        await super().cancel(response_id)
        self.start(self.spoken_reply())
