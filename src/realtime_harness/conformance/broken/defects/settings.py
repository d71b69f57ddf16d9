"""Engines that do not keep the turn detection that was asked for."""

from __future__ import annotations

from realtime_harness.conformance.broken.defects.defect import breaks
from realtime_harness.conformance.broken.engine import Event, ScriptedEngine, deep_merge


@breaks("turn_detection_fields", "turn_detection_fields.create_response")
class DropsCreateResponse(ScriptedEngine):
    """create_response does not come back."""

    def merge(self, patch: Event) -> None:
        super().merge(patch)
        if self.turn_detection is not None:
            self.turn_detection.pop("create_response", None)


@breaks("turn_detection_fields", "turn_detection_fields.type")
class SemanticIsServer(ScriptedEngine):
    """semantic_vad comes back as server_vad."""

    async def updated(self) -> None:
        server = {"audio": {"input": {"turn_detection": {"type": "server_vad"}}}}
        await self.emit(
            "session.updated", session=deep_merge(self.session, server) if self.turn_detection else self.session
        )


@breaks("turn_detection_fields", "turn_detection_fields.type")
class ShallowMerge(ScriptedEngine):
    """An update of one audio setting loses the others."""

    def merge(self, patch: Event) -> None:
        heard = patch.get("audio", {}).get("input")
        super().merge(patch)
        if heard is not None and "turn_detection" not in heard:
            self.session["audio"]["input"] = {**heard, "turn_detection": None}


@breaks("turn_detection_fields", "turn_detection_fields.silence_duration_ms")
class OwnSilence(ScriptedEngine):
    """The silence that was asked for is replaced by the engine's own."""

    async def updated(self) -> None:
        own = {"audio": {"input": {"turn_detection": {"silence_duration_ms": 800}}}}
        await self.emit(
            "session.updated", session=deep_merge(self.session, own) if self.turn_detection else self.session
        )


@breaks("turn_detection_fields", "turn_detection_fields.eagerness")
class AutoIsMedium(ScriptedEngine):
    """The eagerness 'auto' comes back as what it means."""

    async def updated(self) -> None:
        own = {"audio": {"input": {"turn_detection": {"eagerness": "medium"}}}}
        await self.emit(
            "session.updated", session=deep_merge(self.session, own) if self.turn_detection else self.session
        )


@breaks("turn_detection_fields", "turn_detection_fields.interrupt_response")
class BooleansAsNumbers(ScriptedEngine):
    """true comes back as 1."""

    async def updated(self) -> None:
        own = {"audio": {"input": {"turn_detection": {"interrupt_response": 1}}}}
        await self.emit(
            "session.updated", session=deep_merge(self.session, own) if self.turn_detection else self.session
        )
