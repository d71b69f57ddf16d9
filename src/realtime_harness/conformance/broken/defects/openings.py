"""Engines that do not open a session as they must."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from realtime_harness.conformance.broken.defects.defect import Filtered, breaks
from realtime_harness.conformance.broken.engine import Event, ScriptedEngine, deep_merge


@breaks("handshake", "session.created")
class NeverOpens(Filtered):
    """Accepts the connection and never says session.created."""

    DROPPED = ("session.created",)


@breaks("handshake", "platform.event_timeout")
class UpdateUnanswered(Filtered):
    """Takes session.update and never answers it."""

    DROPPED = ("session.updated",)


@breaks("handshake", "platform.required_field")
class CreatedWithoutSession(Filtered):
    """session.created has no session."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"session.created": {"session": None}}


@breaks("handshake", "platform.first_event")
class SpeaksFirst(ScriptedEngine):
    """session.updated comes before session.created."""

    async def created(self) -> None:
        await self.emit("session.updated", session=self.session)
        await super().created()


@breaks("handshake", "platform.json")
class SaysHello(ScriptedEngine):
    """Sends a line of plain text."""

    async def created(self) -> None:
        await super().created()
        await self.transport.send("welcome!")


@breaks("handshake", "handshake.input_format")
class HearsAtSixteen(ScriptedEngine):
    """Answers that it hears at 16 kHz."""

    async def updated(self) -> None:
        format_ = {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16_000}}}}
        await self.emit("session.updated", session=deep_merge(self.session, format_))


@breaks("handshake", "handshake.output_format")
class SpeaksMulaw(ScriptedEngine):
    """Answers that it speaks G.711."""

    async def updated(self) -> None:
        format_ = {"audio": {"output": {"format": {"type": "audio/pcmu"}}}}
        await self.emit(
            "session.updated", session={**self.session, "audio": {**self.session["audio"], **format_["audio"]}}
        )


@breaks("handshake", "handshake.input_format")
class BetaSession(ScriptedEngine):
    """Answers with a session of the beta's shape."""

    async def updated(self) -> None:
        session = {key: value for key, value in self.session.items() if key != "audio"}
        await self.emit("session.updated", session={**session, "input_audio_format": "pcm16"})


@breaks("handshake", "handshake.kept")
class ForgetsTools(ScriptedEngine):
    """An update of the instructions alone drops the tools."""

    def merge(self, patch: Event) -> None:
        super().merge({"tools": [], **patch})


@breaks("handshake", "handshake.kept")
class ResetsAudio(ScriptedEngine):
    """An update of the instructions alone puts the audio settings back to what they were at first."""

    def merge(self, patch: Event) -> None:
        super().merge({"audio": self.new_session()["audio"], **patch})


@breaks("handshake", "handshake.instructions")
class KeepsOldInstructions(ScriptedEngine):
    """Instructions are taken once, and an update of them is not."""

    def merge(self, patch: Event) -> None:
        kept = self.session["instructions"]
        super().merge({**patch, "instructions": kept or patch.get("instructions", "")})


@breaks("handshake", "platform.error")
class ObjectsToVoice(ScriptedEngine):
    """Answers the update, and complains about the voice as well."""

    async def updated(self) -> None:
        await super().updated()
        await self.error("invalid_value", "Unknown voice 'marin'.")


@breaks("handshake", "platform.closed")
class HangsUp(ScriptedEngine):
    """Closes the connection on the first update."""

    async def update(self, patch: Event) -> None:
        await self.transport.close()
