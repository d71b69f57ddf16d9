"""Engines that call, answer in silence or look at pictures wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from realtime_harness.conformance.broken.defects.defect import Filtered, breaks
from realtime_harness.conformance.broken.engine import Event, ScriptedEngine, tone

# --- function_call ----------------------------------------------------------------------------------------------------


@breaks("function_call", "platform.required_field")
class CallWithoutName(Filtered):
    """response.function_call_arguments.done has no name."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.function_call_arguments.done": {"name": None}}


@breaks("function_call", "function_call.called")
class SaysInsteadOfCalling(ScriptedEngine):
    """Talks where it should have called the tool."""

    tool_used = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.tool_used = True


@breaks("function_call", "function_call.name")
class CallsAnotherTool(Filtered):
    """Calls a tool that was not declared."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.function_call_arguments.done": {"name": "weather"}}


@breaks("function_call", "platform.arguments")
class ArgumentsAsObject(Filtered):
    """The arguments are an object, not its text."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.function_call_arguments.done": {"arguments": {"city": "Paris"}}}


@breaks("function_call", "platform.arguments")
class ArgumentsCutOff(Filtered):
    """The arguments end in the middle."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.function_call_arguments.done": {"arguments": '{"city": "Par'}}


@breaks("function_call", "function_call.arguments")
class ArgumentsMissing(ScriptedEngine):
    """A required argument is missing."""

    def arguments(self, tool: Event) -> Event:
        return {}


@breaks("function_call", "platform.call_id")
class CallWithoutId(Filtered):
    """The call_id is empty."""

    CHANGED: ClassVar[Mapping[str, Event]] = {"response.function_call_arguments.done": {"call_id": ""}}


@breaks("function_call", "function_call.unasked")
class AnswersTheOutput(ScriptedEngine):
    """Answers a function output before response.create."""

    async def create_item(self, item: Event) -> None:
        await super().create_item(item)
        if item["type"] == "function_call_output":
            self.start(self.spoken_reply())


@breaks("function_call", "platform.error")
class OutputRefused(ScriptedEngine):
    """A function output is an error."""

    async def create_item(self, item: Event) -> None:
        if item["type"] == "function_call_output":
            await self.error("invalid_value", "Unknown item type.")
        else:
            await super().create_item(item)


@breaks("function_call", "function_call.follow_up.reply")
class NoFollowUp(ScriptedEngine):
    """response.create after the output is not answered."""

    async def create_response(self, asked: Event) -> None:
        if not self.tool_used:
            await super().create_response(asked)


@breaks("function_call", "function_call.follow_up.status")
class FollowUpFails(ScriptedEngine):
    """The answer after the output fails."""

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        followed = self.tool_used and self.active_item is None and response_id != self.first_call
        await super().done(response_id, "failed" if followed else status, reason)

    first_call: str | None = None

    async def emit_call(self, response_id: str, call_id: str, name: str, arguments: Event) -> None:
        self.first_call = response_id
        await super().emit_call(response_id, call_id, name, arguments)


# --- silent_tool ------------------------------------------------------------------------------------------------------


@breaks("silent_tool", "silent_tool.one_call")
class CallsTwice(ScriptedEngine):
    """Two calls in one silent answer."""

    async def emit_call(self, response_id: str, call_id: str, name: str, arguments: Event) -> None:
        await super().emit_call(response_id, call_id, name, arguments)
        await super().emit_call(response_id, self.new_id("call"), name, arguments)


@breaks("silent_tool", "silent_tool.silent")
class SpeaksTheAnswer(ScriptedEngine):
    """A silent answer is spoken as well."""

    async def emit_call(self, response_id: str, call_id: str, name: str, arguments: Event) -> None:
        await self.emit_audio(response_id, self.new_id("item"), tone(0, 100))
        await super().emit_call(response_id, call_id, name, arguments)


@breaks("silent_tool", "silent_tool.silent")
class SubtitlesTheAnswer(ScriptedEngine):
    """A silent answer has a transcript."""

    async def emit_call(self, response_id: str, call_id: str, name: str, arguments: Event) -> None:
        await self.emit_words(response_id, self.new_id("item"), "Fifty.")
        await super().emit_call(response_id, call_id, name, arguments)


@breaks("silent_tool", "silent_tool.one_call")
class ForcesAnotherTool(ScriptedEngine):
    """Calls the first tool in place of the forced one."""

    async def create_response(self, asked: Event) -> None:
        if isinstance(asked.get("tool_choice"), dict):
            asked = {**asked, "tool_choice": {"type": "function", "name": self.session["tools"][0]["name"]}}
        await super().create_response(asked)


@breaks("silent_tool", "silent_tool.one_call")
class IgnoresTheForce(ScriptedEngine):
    """Answers in words where a tool is forced."""

    async def create_response(self, asked: Event) -> None:
        await super().create_response({})


@breaks("silent_tool", "silent_tool.unasked")
class TalksAboutIt(ScriptedEngine):
    """Speaks after its answer was accepted."""

    async def create_item(self, item: Event) -> None:
        await super().create_item(item)
        if item["type"] == "function_call_output" and not self.tool_used:
            self.start(self.spoken_reply())


@breaks("silent_tool", "silent_tool.arguments")
class NumberAsText(ScriptedEngine):
    """The value of a scale is a string."""

    def arguments(self, tool: Event) -> Event:
        return dict.fromkeys(tool["parameters"]["properties"], "50")


@breaks("silent_tool", "silent_tool.unasked")
class AnswersContext(ScriptedEngine):
    """A context item is answered aloud, after some thought."""

    async def create_item(self, item: Event) -> None:
        await super().create_item(item)
        if item["type"] == "message":
            self.start(self.spoken_reply())


@breaks("silent_tool", "silent_tool.item")
class ContextUnacknowledged(ScriptedEngine):
    """A context item is taken without a word."""

    async def create_item(self, item: Event) -> None:
        pass


# --- image_context ----------------------------------------------------------------------------------------------------


@breaks("image_context", "image_context.seen")
class ImageIgnored(ScriptedEngine):
    """An image is accepted and not looked at."""

    def see(self, url: str) -> str | None:
        return None


@breaks("image_context", "image_context.seen")
class TakesTheFirst(ScriptedEngine):
    """Does not look, and takes the first option."""

    def see(self, url: str) -> str | None:
        return "green"


@breaks("image_context", "image_context.seen")
class AlmostRed(ScriptedEngine):
    """Answers in another case than the option's."""

    def see(self, url: str) -> str | None:
        return "Red"


@breaks("image_context", "image_context.item")
class SecondItemUndone(ScriptedEngine):
    """conversation.item.done comes for the first context item only."""

    items_seen = 0

    async def add_item(self, item: Event) -> None:
        self.items_seen += 1
        if self.items_seen == 1 or item.get("type") != "message":
            await super().add_item(item)
        else:
            await self.emit("conversation.item.added", item=item)


@breaks("image_context", "platform.error")
class ImageRefused(ScriptedEngine):
    """An image is an error."""

    async def create_item(self, item: Event) -> None:
        if "input_image" in str(item.get("content")):
            await self.error("invalid_value", "input_image is not supported.")
        else:
            await super().create_item(item)


@breaks("image_context", "image_context.seen")
class ColoursSwapped(ScriptedEngine):
    """Takes an image's bytes for BGR."""

    def see(self, url: str) -> str | None:
        return {"red": "blue", "blue": "red"}.get(super().see(url) or "", "green")
