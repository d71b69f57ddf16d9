"""A correct scripted model endpoint, and endpoints that each break one rule: what the endpoint suite must pass and fail.

They are what real servers get wrong: calls written as prose, choices in other words, arguments that are no text, a wrong
key let in, a connection test that takes `max_tokens: 1` ill. Pure: a request in, an answer out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import orjson

from realtime_harness.realtime.wire import Json

KEY = "the-key-of-a-scripted-endpoint"
MODEL = "scripted"


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    body: bytes
    content_type: str = "application/json"


class ScriptedEndpoint:
    """Answers every request of the platform's correctly. Broken ones override a method."""

    DEFECT: ClassVar[object] = None

    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def answer(self, method: str, path: str, key: str, body: bytes) -> Reply:
        """One request. `path` is that below the API's root."""
        if not self.let_in(key):
            return self.error(401, "invalid_api_key", "The key is wrong.")
        if method == "GET" and path == "models":
            return self.models()
        if method == "POST" and path == "chat/completions":
            return self.complete(orjson.loads(body))
        return self.error(404, "not_found", "There is nothing here.")

    def let_in(self, key: str) -> bool:
        """Whether the key is right."""
        return key == KEY

    def models(self) -> Reply:
        """The list of models."""
        return self.reply({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def complete(self, asked: Json) -> Reply:
        """One completion."""
        if asked.get("max_tokens") == 1 or asked.get("max_completion_tokens") == 1:
            return self.text("Hi", "length")
        if not asked.get("tools"):
            return self.text("They may want to know whether I am here.")
        name, arguments = self.decide(asked)
        return self.calls([self.call(name, arguments)])

    def decide(self, asked: Json) -> tuple[str, Json]:
        """The tool to call, and its arguments."""
        tools = {tool["function"]["name"]: tool["function"] for tool in asked["tools"]}
        if "submit_response" in tools:
            return "submit_response", {"value": self.value(tools["submit_response"], self.told(asked))}
        if "send_chat" in tools:
            return "send_chat", {"message": "Hello Alex!"}
        return "wait", {}

    def value(self, tool: Json, text: str) -> Any:
        """An answer that fits the question."""
        schema: Json = tool["parameters"]["properties"]["value"]
        listed = [line[2:] for line in text.splitlines() if line.startswith("- ")]
        match schema["type"]:
            case "string":
                return self.choose(listed, text) if listed else "I would say that it was pleasant."
            case "array":
                return listed if "every item" in text else listed[:1]
            case "integer":
                return int(schema["minimum"])
            case "number":
                return (schema["minimum"] + schema["maximum"]) / 2
            case _:
                return dict.fromkeys(schema["properties"], 50)

    def choose(self, listed: list[str], text: str) -> str:
        """One of the options: by the picture, if it is about one."""
        return "red" if "picture" in text else listed[0]

    def told(self, asked: Json) -> str:
        """The text of the user's last message."""
        content = next(each["content"] for each in reversed(asked["messages"]) if each["role"] == "user")
        return content if isinstance(content, str) else str(cast("list[Json]", content)[0]["text"])

    def call(self, name: str, arguments: Json) -> Json:
        """One tool call."""
        function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
        return {"id": f"call_{next(self.numbers)}", "type": "function", "function": function}

    def calls(self, calls: list[Json]) -> Reply:
        """A completion that calls."""
        return self.completion({"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls")

    def text(self, words: str, reason: str = "stop") -> Reply:
        """A completion in words."""
        return self.completion({"role": "assistant", "content": words}, reason)

    def completion(self, message: Json, reason: str) -> Reply:
        """A completion."""
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return self.reply(
            {"id": "c1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}
        )

    def reply(self, value: Json, status: int = 200) -> Reply:
        """JSON."""
        return Reply(status, orjson.dumps(value))

    def error(self, status: int, code: str, message: str) -> Reply:
        """An error in OpenAI's shape."""
        return self.reply({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status)


@dataclass(frozen=True, slots=True)
class EndpointDefect:
    """A broken endpoint: the check that must find it, and the rule whose fault names the mistake."""

    name: str
    check: str
    rule: str
    says: str
    endpoint: type[ScriptedEndpoint]


def breaks(check: str, rule: str) -> Callable[[type[ScriptedEndpoint]], type[ScriptedEndpoint]]:
    """Marks the class as a defect that `check` must find by `rule`; its name and docstring say what it does."""

    def marked(endpoint: type[ScriptedEndpoint]) -> type[ScriptedEndpoint]:
        name = "".join("_" + letter.lower() if letter.isupper() else letter for letter in endpoint.__name__).strip("_")
        endpoint.DEFECT = EndpointDefect(name, check, rule, (endpoint.__doc__ or "").strip(), endpoint)
        return endpoint

    return marked


@breaks("models", "models.status")
class ModelsFail(ScriptedEndpoint):
    """GET /models is a server error."""

    def models(self) -> Reply:
        return self.error(500, "internal", "no catalogue")


@breaks("connection", "connection.one_token")
class OneTokenRefused(ScriptedEndpoint):
    """max_tokens of 1 is an error."""

    def complete(self, asked: Json) -> Reply:
        if asked.get("max_tokens") == 1:
            return self.error(400, "invalid_value", "max_tokens must be at least 16.")
        return super().complete(asked)


@breaks("connection", "connection.one_token")
class NewNameRefused(ScriptedEndpoint):
    """max_completion_tokens is not known."""

    def complete(self, asked: Json) -> Reply:
        if "max_completion_tokens" in asked:
            return self.error(400, "unknown_parameter", "Unknown parameter: max_completion_tokens.")
        return super().complete(asked)


@breaks("connection", "connection.one_token")
class NoChoices(ScriptedEndpoint):
    """A completion has no choices array."""

    def completion(self, message: Json, reason: str) -> Reply:
        return self.reply({"message": message, "reason": reason})


@breaks("auth", "auth.refused")
class LetsAnybodyIn(ScriptedEndpoint):
    """Any key is right."""

    def let_in(self, key: str) -> bool:
        return True


@breaks("auth", "auth.refused")
class WrongKeyIsServerError(ScriptedEndpoint):
    """A wrong key is a server error."""

    def error(self, status: int, code: str, message: str) -> Reply:
        return super().error(500 if status == 401 else status, code, message)


@breaks("answer_multiplechoice", "answer.one_call")
class AnswersInProse(ScriptedEndpoint):
    """Answers in words where a call is due."""

    def calls(self, calls: list[Json]) -> Reply:
        return self.text("I prefer tea.")


@breaks("answer_multiplechoice", "answer.one_call")
class CallAsText(ScriptedEndpoint):
    """Writes its call into the text."""

    def calls(self, calls: list[Json]) -> Reply:
        return self.text(f"<tool_call>{orjson.dumps(calls[0]['function']).decode()}</tool_call>")


@breaks("answer_multiplechoice", "answer.value")
class OtherCase(ScriptedEndpoint):
    """Chooses in lower case."""

    def choose(self, listed: list[str], text: str) -> str:
        return super().choose(listed, text).lower()


@breaks("answer_multiplechoice", "answer.value")
class ChoosesTheNumber(ScriptedEndpoint):
    """Gives the number of its choice."""

    def choose(self, listed: list[str], text: str) -> str:
        return "1"


@breaks("answer_multiplechoice_several", "answer.value")
class ChoicesJoined(ScriptedEndpoint):
    """Several choices as one text."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return ", ".join(cast("list[str]", value)) if isinstance(value, list) else value


@breaks("answer_likertscale", "answer.value")
class HalfAPoint(ScriptedEndpoint):
    """A scale point between two."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return value + 0.5 if isinstance(value, int) else value


@breaks("answer_vasrating", "answer.value")
class NumberAsText(ScriptedEndpoint):
    """A number in quotes."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return str(value) if isinstance(value, float) else value


@breaks("answer_vasrating", "answer.value")
class OffTheScale(ScriptedEndpoint):
    """A rating beyond the scale's end."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return 101 if isinstance(value, float) else value


@breaks("answer_ranking", "answer.value")
class RanksSome(ScriptedEndpoint):
    """Leaves an item out of a ranking."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return cast("list[str]", value)[1:] if "every item" in text else value


@breaks("answer_rapidrate", "answer.value")
class OneDimensionShort(ScriptedEndpoint):
    """Leaves a dimension out."""

    def value(self, tool: Json, text: str) -> Any:
        value = super().value(tool, text)
        return {"Calm": 50} if isinstance(value, dict) else value


@breaks("answer_vasrating", "answer.value")
class ExtraArguments(ScriptedEndpoint):
    """Gives reasons beside the value."""

    def decide(self, asked: Json) -> tuple[str, Json]:
        name, arguments = super().decide(asked)
        return name, {**arguments, "reasoning": "because"} if arguments else arguments


@breaks("answer_vasrating", "answer.one_call")
class TwoCalls(ScriptedEndpoint):
    """Submits, and chats as well."""

    def calls(self, calls: list[Json]) -> Reply:
        return super().calls([*calls, self.call("wait", {})])


@breaks("answer_vasrating", "answer.tool")
class StaleTool(ScriptedEndpoint):
    """Calls the tool of an older contract."""

    def call(self, name: str, arguments: Json) -> Json:
        return super().call("respond" if name == "submit_response" else name, arguments)


@breaks("answer_vasrating", "answer.arguments")
class ArgumentsAsObject(ScriptedEndpoint):
    """The arguments are an object, not its text."""

    def call(self, name: str, arguments: Json) -> Json:
        made = super().call(name, arguments)
        return {**made, "function": {"name": name, "arguments": arguments}}


@breaks("answer_vasrating", "answer.arguments")
class ArgumentsCutOff(ScriptedEndpoint):
    """The arguments end in the middle."""

    def call(self, name: str, arguments: Json) -> Json:
        made = super().call(name, arguments)
        return {**made, "function": {"name": name, "arguments": made["function"]["arguments"][:-2]}}


@breaks("answer_vasrating", "answer.finish_reason")
class SaysStop(ScriptedEndpoint):
    """finish_reason is stop beside a call."""

    def calls(self, calls: list[Json]) -> Reply:
        return self.completion({"role": "assistant", "content": None, "tool_calls": calls}, "stop")


@breaks("answer_vasrating", "answer.call_id")
class CallWithoutId(ScriptedEndpoint):
    """A call has no id."""

    def call(self, name: str, arguments: Json) -> Json:
        return {**super().call(name, arguments), "id": ""}


@breaks("chat_turn", "chat.tool")
class AnswersAnywhere(ScriptedEndpoint):
    """Submits a response where nothing is asked."""

    def decide(self, asked: Json) -> tuple[str, Json]:
        return "submit_response", {"value": "Hello"}


@breaks("chat_turn", "chat.arguments")
class EmptyMessage(ScriptedEndpoint):
    """Chats without words."""

    def decide(self, asked: Json) -> tuple[str, Json]:
        name, arguments = super().decide(asked)
        return name, {"message": ""} if name == "send_chat" else arguments


@breaks("wait", "wait.arguments")
class WaitsWithReasons(ScriptedEndpoint):
    """wait has arguments."""

    def decide(self, asked: Json) -> tuple[str, Json]:
        name, arguments = super().decide(asked)
        return name, {"seconds": 5} if name == "wait" else arguments


@breaks("image", "image.status")
class NoImages(ScriptedEndpoint):
    """Content in parts is an error."""

    def complete(self, asked: Json) -> Reply:
        if any(isinstance(each["content"], list) for each in asked["messages"]):
            return self.error(400, "invalid_value", "content must be a string.")
        return super().complete(asked)


@breaks("refused_before", "refused_before.status")
class NoToolMessages(ScriptedEndpoint):
    """History with tool messages is an error."""

    def complete(self, asked: Json) -> Reply:
        if any(each["role"] == "tool" for each in asked["messages"]):
            return self.error(400, "invalid_value", "Unknown role: tool.")
        return super().complete(asked)


@breaks("plain_text", "plain_text.content")
class SilentWithoutTools(ScriptedEndpoint):
    """Without tools there is nothing to say."""

    def text(self, words: str, reason: str = "stop") -> Reply:
        return super().text("" if reason == "stop" else words, reason)


@breaks("plain_text", "plain_text.no_call")
class AlwaysCalls(ScriptedEndpoint):
    """Calls a tool that was not offered, where none was."""

    def text(self, words: str, reason: str = "stop") -> Reply:
        message = {"role": "assistant", "content": words, "tool_calls": [self.call("wait", {})]}
        return self.completion(message, reason)


@breaks("extra_parameters", "extra_parameters.status")
class StrictParameters(ScriptedEndpoint):
    """A parameter it does not know is an error."""

    def complete(self, asked: Json) -> Reply:
        if "chat_template_kwargs" in asked:
            return self.error(400, "unknown_parameter", "Unknown parameter: chat_template_kwargs.")
        return super().complete(asked)


@breaks("at_once", "at_once.status")
class OneAfterTheOther(ScriptedEndpoint):
    """Several requests at once are turned away."""

    def complete(self, asked: Json) -> Reply:
        if "Seat" in self.told(asked) and next(self.numbers) % 3 == 0:
            return self.error(429, "rate_limit_exceeded", "One at a time.")
        return super().complete(asked)


@breaks("at_once", "at_once.value")
class SharedCache(ScriptedEndpoint):
    """Gives one seat another's answer."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = None

    def value(self, tool: Json, text: str) -> Any:
        if "Seat" not in text:
            return super().value(tool, text)
        if self.kept is None:
            self.kept = super().value(tool, text)
        return self.kept


ENDPOINT_DEFECTS: Mapping[str, EndpointDefect] = {
    each.name: each
    for each in (value.__dict__.get("DEFECT") for value in list(globals().values()) if isinstance(value, type))
    if isinstance(each, EndpointDefect)
}
