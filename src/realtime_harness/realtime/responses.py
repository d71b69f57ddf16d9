"""Responses: what `response.create` asks for, and the object that `response.created` and `response.done` carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from realtime_harness.realtime.session import (
    MAX_INSTRUCTIONS_CHARS,
    AudioFormat,
    FunctionTool,
    MaxTokens,
    Modality,
    Session,
    ToolChoice,
    as_tuples,
    check_tools,
    refuse_foreign_tools,
)
from realtime_harness.realtime.wire import Json, WireModel, refused_by

ResponseStatus = Literal["in_progress", "completed", "cancelled", "failed", "incomplete"]


class ResponseAudioOutput(WireModel):
    """Voice and format of one response."""

    format: AudioFormat | None = None
    voice: str | Json | None = None


class ResponseAudio(WireModel):
    """Audio settings of one response."""

    output: ResponseAudioOutput | None = None


class ResponseParams(WireModel):
    """What one `response.create` overrides. It never changes the session.

    `input` replaces the conversation as context (items, or references to items); `conversation` "none" keeps the
    response out of the conversation. Metadata is echoed: at most 16 pairs, keys of 64 and values of 512 characters.
    """

    instructions: Annotated[str, Field(max_length=MAX_INSTRUCTIONS_CHARS)] | None = None
    tools: tuple[FunctionTool, ...] | None = None
    tool_choice: ToolChoice | None = None
    output_modalities: Annotated[tuple[Modality, ...], Field(min_length=1, max_length=1)] | None = None
    max_output_tokens: MaxTokens | None = None
    audio: ResponseAudio | None = None
    metadata: (
        Annotated[
            dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
        ]
        | None
    ) = None
    conversation: Literal["auto", "none"] = "auto"
    input: tuple[Json, ...] | None = None

    @classmethod
    def read(cls, value: Json) -> ResponseParams:
        """Validated; raises InvalidEvent naming the field."""
        refuse_foreign_tools(value.get("tools"), "response.tools")
        fields: Json = {key: field for key, field in value.items() if not (field is None and key == "conversation")}
        items = fields.pop("input", None)
        fields = as_tuples(fields)
        if items is not None:
            fields["input"] = tuple(cast("list[Any]", items)) if isinstance(items, list) else items
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise refused_by(error, "response") from None


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """One response's effective settings: the session's, with the overrides of its `response.create`."""

    instructions: str
    tools: tuple[FunctionTool, ...]
    tool_choice: ToolChoice
    modality: Modality
    max_output_tokens: int | None
    voice: str
    speed: float
    metadata: dict[str, str] | None
    out_of_band: bool

    @classmethod
    def of(cls, session: Session, params: ResponseParams) -> ResponsePlan:
        """Raises InvalidEvent when a forced tool is not declared."""
        tools = session.tools if params.tools is None else params.tools
        choice = params.tool_choice or session.tool_choice
        if params.tools is not None or params.tool_choice is not None:
            if (
                params.tool_choice is None
                and params.tools is not None
                and not isinstance(choice, str)
                and choice.name not in {tool.name for tool in tools}
            ):
                choice = "auto"  # the session's forced tool is not among this response's own tools
            check_tools(tools, choice, "response")
        output = params.audio.output if params.audio else None
        limit = params.max_output_tokens or session.max_output_tokens
        return cls(
            instructions=session.instructions if params.instructions is None else params.instructions,
            tools=tools,
            tool_choice=choice,
            modality=(params.output_modalities or session.output_modalities)[0],
            max_output_tokens=None if limit == "inf" else limit,
            voice=voice_name(output.voice if output and output.voice is not None else session.audio.output.voice),
            speed=session.audio.output.speed,
            metadata=params.metadata,
            out_of_band=params.conversation == "none",
        )


def voice_name(voice: str | Json) -> str:
    """A voice is a name, or an object with an id (a custom voice). At most 256 characters: every response echoes it."""
    return (voice if isinstance(voice, str) else str(voice.get("id", "")))[:256]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one response, as the engine counted them. A detail is None when it is not known, and is then left out."""

    input_tokens: int
    output_tokens: int
    input_text_tokens: int | None = None
    input_audio_tokens: int | None = None
    input_image_tokens: int | None = None
    cached_tokens: int | None = None
    output_text_tokens: int | None = None
    output_audio_tokens: int | None = None

    def to_wire(self) -> Json:
        """The usage object of `response.done`."""
        inputs = {
            "text_tokens": self.input_text_tokens,
            "audio_tokens": self.input_audio_tokens,
            "image_tokens": self.input_image_tokens,
            "cached_tokens": self.cached_tokens,
        }
        outputs = {"text_tokens": self.output_text_tokens, "audio_tokens": self.output_audio_tokens}
        wire: Json = {
            "total_tokens": self.input_tokens + self.output_tokens,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }
        for key, details in (("input_token_details", inputs), ("output_token_details", outputs)):
            known = {name: count for name, count in details.items() if count is not None}
            if known:
                wire[key] = known
        return wire


@dataclass(frozen=True, slots=True)
class ResponseBody:
    """The response object of the wire."""

    id: str
    status: ResponseStatus
    plan: ResponsePlan
    conversation_id: str | None
    output: tuple[Json, ...] = ()
    status_details: Json | None = None
    usage: Usage | None = None

    def to_wire(self) -> Json:
        """As `response.created` and `response.done` carry it."""
        limit = self.plan.max_output_tokens
        wire: Json = {
            "id": self.id,
            "object": "realtime.response",
            "status": self.status,
            "status_details": self.status_details,
            "output": list(self.output),
            "conversation_id": self.conversation_id,
            "output_modalities": [self.plan.modality],
            "max_output_tokens": "inf" if limit is None else limit,
            "audio": {"output": {"format": AudioFormat().model_dump(), "voice": self.plan.voice}},
            "metadata": self.plan.metadata,
            "usage": None if self.usage is None else self.usage.to_wire(),
        }
        return wire
