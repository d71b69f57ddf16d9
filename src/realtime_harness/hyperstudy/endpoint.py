"""The model endpoint of text agents: its limits, its connection test and its tools. Source: agent-spec 0.2.0, `modelEndpoint`."""

from __future__ import annotations

from dataclasses import dataclass

from realtime_harness.hyperstudy.answers import value_schema
from realtime_harness.hyperstudy.questions import Question, Rating
from realtime_harness.realtime.wire import Json

SUBMIT_RESPONSE = "submit_response"
SUBMITTED = "value"  # its one argument
MODELS_REQUEST = "GET {baseUrl}/models"
COMPLETIONS_REQUEST = "POST {baseUrl}/chat/completions"
RETRIES = 0


@dataclass(frozen=True, slots=True)
class RequestTimeout:
    """How long one decision may take, in milliseconds; an experimenter sets it within `min_ms` and `max_ms`."""

    default_ms: int = 60_000
    min_ms: int = 10_000
    max_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """A request that the platform makes before it uses an endpoint, and when it passes."""

    request: str
    timeout_ms: int
    passes: str


REQUEST_TIMEOUT = RequestTimeout()
CONNECTION_TESTS: tuple[ConnectionTest, ...] = (
    ConnectionTest(
        MODELS_REQUEST,
        10_000,
        "Any response except a server error. The first model id, if listed, is used as the model name.",
    ),
    ConnectionTest(
        COMPLETIONS_REQUEST,
        30_000,
        "A 1-token completion returns 200 with a choices array. 401 or 403 means the key was refused.",
    ),
)


def offered_tools(question: Question | None, *, text_chat: bool) -> list[Json]:
    """The tools of one decision request: `send_chat` with text chat, `submit_response` with a question on screen."""
    chat = _tool(
        "send_chat",
        "Send a chat message to the other participant(s) in the experiment.",
        {"message": {"type": "string", "description": "The message text to send."}},
    )
    tools = [chat] if text_chat else []
    tools.append(_tool("wait", "Take no action this turn. Use when nothing is required of you right now.", {}))
    if question is not None:
        describing = f'Submit your response to the current "{question.component}" component.'
        tools.append(_tool(SUBMIT_RESPONSE, describing, {SUBMITTED: value_schema(question)}))
    return tools


def model_endpoint() -> Json:
    """`modelEndpoint` of the document."""
    return {
        "api": "OpenAI Chat Completions, with function tool calling",
        "baseUrl": "A public https URL ending in the API root, e.g. https://agent.example.org/v1. Private, loopback and "
        "LAN addresses are refused.",
        "authentication": "Authorization: Bearer <api key>",
        "requests": [MODELS_REQUEST, COMPLETIONS_REQUEST],
        "toolChoice": "auto",
        "retries": RETRIES,
        "requestTimeoutMs": {
            "default": REQUEST_TIMEOUT.default_ms,
            "min": REQUEST_TIMEOUT.min_ms,
            "max": REQUEST_TIMEOUT.max_ms,
        },
        "connectionTest": [
            {"request": test.request, "timeoutMs": test.timeout_ms, "passes": test.passes} for test in CONNECTION_TESTS
        ],
        "tools": offered_tools(Rating("", 0, 100), text_chat=True),
        "toolsNote": "send_chat is offered only when the study has text chat; submit_response only while a question is on "
        "screen, with the value schema of that question (see Answer schemas).",
    }


def _tool(name: str, description: str, properties: Json) -> Json:
    parameters: Json = {"type": "object", "properties": properties}
    if properties:
        parameters["required"] = list(properties)
    parameters["additionalProperties"] = False
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
