"""The session object: what a client configures, merged deeply and echoed whole.

Sources: HRP 0.2.0, `session.update`; OpenAI Realtime (GA) session; docs/design.md 5.2.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, Tag, ValidationError

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.pcm import RATE_HZ
from realtime_harness.realtime.wire import Json, WireModel, check_echo, kind_of, new_object, refused_by

MAX_TOOLS = 128
MAX_INSTRUCTIONS_CHARS = 200_000
Modality = Literal["audio", "text"]


class AudioFormat(WireModel):
    """PCM16 at 24 kHz: the one format of HRP."""

    type: Literal["audio/pcm"] = "audio/pcm"
    rate: Literal[24000] = RATE_HZ


class ServerVad(WireModel):
    """A turn ends after `silence_duration_ms` without speech. Milliseconds; `threshold` is a probability."""

    type: Literal["server_vad"] = "server_vad"
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    prefix_padding_ms: Annotated[int, Field(ge=0, le=5_000)] = 300
    silence_duration_ms: Annotated[int, Field(ge=0, le=10_000)] = 500
    idle_timeout_ms: Annotated[int, Field(ge=5_000, le=30_000)] | None = None
    create_response: bool = True
    interrupt_response: bool = True


class SemanticVad(WireModel):
    """A turn ends when what was said sounds finished; `eagerness` bounds the wait."""

    type: Literal["semantic_vad"] = "semantic_vad"
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True


TurnDetection = ServerVad | SemanticVad


class Transcription(WireModel):
    """Asks for the words of each committed turn; every field is the client's, echoed as asked."""

    model: str | None = None
    language: str | None = None
    prompt: str | None = None


class AudioInput(WireModel):
    """What comes from the client's microphone."""

    format: AudioFormat = AudioFormat()
    transcription: Transcription | None = None
    noise_reduction: None = None
    turn_detection: (
        Annotated[
            Annotated[ServerVad, Tag("server_vad")] | Annotated[SemanticVad, Tag("semantic_vad")],
            Discriminator("type"),
        ]
        | None
    ) = ServerVad()


class AudioOutput(WireModel):
    """What the client hears. A foreign voice name is echoed and mapped to a voice of the engine's."""

    format: AudioFormat = AudioFormat()
    voice: str | Json = "marin"
    speed: Annotated[float, Field(ge=0.25, le=1.5)] = 1.0


class AudioSettings(WireModel):
    """Both directions."""

    input: AudioInput = AudioInput()
    output: AudioOutput = AudioOutput()


class FunctionTool(WireModel):
    """A function that the model may call and the client carries out. `parameters` is a JSON schema."""

    type: Literal["function"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
    description: str = ""
    parameters: Json = Field(default_factory=new_object)


class ForcedTool(WireModel):
    """A `tool_choice` that names the one function to call."""

    type: Literal["function"]
    name: str


ToolChoice = Literal["auto", "none", "required"] | ForcedTool
MaxTokens = Annotated[int, Field(ge=1, le=4096)] | Literal["inf"]


class Session(WireModel):
    """The full effective session, as `session.created` and `session.updated` carry it."""

    type: Literal["realtime"] = "realtime"
    object: Literal["realtime.session"] = "realtime.session"
    id: str = ""
    model: str = ""
    output_modalities: Annotated[tuple[Modality, ...], Field(min_length=1, max_length=1)] = ("audio",)
    instructions: Annotated[str, Field(max_length=MAX_INSTRUCTIONS_CHARS)] = ""
    tools: Annotated[tuple[FunctionTool, ...], Field(max_length=MAX_TOOLS)] = ()
    tool_choice: ToolChoice = "auto"
    max_output_tokens: MaxTokens = "inf"
    audio: AudioSettings = AudioSettings()
    tracing: None = None
    truncation: Any = "auto"
    prompt: None = None
    expires_at: int | None = None
    include: tuple[str, ...] | None = None

    @property
    def turn_detection(self) -> TurnDetection | None:
        """None while the client takes turns by hand."""
        return self.audio.input.turn_detection

    def to_wire(self) -> Json:
        """Every field, set or not."""
        return self.model_dump(mode="json")

    def updated(self, patch: Json, defaults: Session) -> Session:
        """This session with `patch` merged into it, deeply; what the patch does not name is kept.

        `null` is a value, not an absence: it switches turn detection or transcription off, and brings any other
        field back to what `defaults` has. Raises InvalidEvent and changes nothing.
        """
        if "type" not in patch:
            raise InvalidEvent(
                "Missing required parameter: 'session.type'.", code="missing_required_parameter", param="session.type"
            )
        patch = {key: value for key, value in patch.items() if key not in _OURS}
        refuse_foreign_tools(patch.get("tools"), "session.tools")
        asked_model = patch.pop("model", None)
        if asked_model is not None and asked_model != self.model:
            raise InvalidEvent(
                f"Invalid 'session.model': the model of a session cannot change; it is {self.model!r}.",
                code="invalid_value",
                param="session.model",
            )
        merged = merge(self.model_dump(), _without_unsupported(patch), defaults.model_dump())
        asked = _at(patch, "audio", "input", "turn_detection")
        given = _at(merged, "audio", "input")
        if asked is not None and given is not None:
            given["turn_detection"] = _completed(asked, self.turn_detection)
        try:
            session = Session.model_validate(as_tuples(merged))
        except ValidationError as error:
            raise refused_by(error, "session") from None
        check_tools(session.tools, session.tool_choice, "session")
        check_echo(session.to_wire(), "session")
        return session


_OURS = frozenset({"id", "object", "expires_at"})  # a client that sends the session back changes none of them
_NULLABLE = frozenset({"turn_detection", "transcription", "noise_reduction", "tracing", "prompt", "include"})


def merge(base: Json, patch: Json, defaults: Json) -> Json:
    """`base` with `patch` merged in, objects deeply, arrays whole. A null that the field cannot hold means the default."""
    out = dict(base)
    for key, value in patch.items():
        here: Any = out.get(key)
        default: Any = defaults.get(key)
        if value is None and key not in _NULLABLE:
            out[key] = default
        elif isinstance(value, dict) and isinstance(here, dict) and key not in ("tool_choice", "voice"):
            out[key] = merge(
                cast("Json", here), cast("Json", value), cast("Json", default) if isinstance(default, dict) else {}
            )
        else:
            out[key] = value
    return out


def as_tuples(value: Any) -> Any:
    """Arrays of the session's own fields as tuples: models are strict and frozen. Schemas inside tools stay as they came."""
    if isinstance(value, dict):
        fields = cast("Json", value)
        return {key: field if key == "parameters" else as_tuples(field) for key, field in fields.items()}
    if isinstance(value, list):
        return tuple(as_tuples(entry) for entry in cast("list[Any]", value))
    return value


def check_tools(tools: tuple[FunctionTool, ...], choice: ToolChoice, root: str) -> None:
    """Names are unique, and a forced tool is among them. Raises InvalidEvent."""
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise InvalidEvent(
                f"Invalid '{root}.tools': the name {name!r} is declared twice.",
                code="invalid_value",
                param=f"{root}.tools",
            )
    if isinstance(choice, ForcedTool) and choice.name not in names:
        raise InvalidEvent(
            f"Invalid '{root}.tool_choice': no tool is named {choice.name[:60]!r}; declared: {', '.join(names) or 'none'}.",
            code="invalid_value",
            param=f"{root}.tool_choice",
        )


def refuse_foreign_tools(tools: Any, root: str) -> None:
    """Only functions that the client carries out: anything else (`mcp`) is an InvalidEvent."""
    if tools is None:
        return
    if not isinstance(tools, list):
        raise InvalidEvent(
            f"Invalid '{root}': expected an array of function tools; got {kind_of(tools)}.",
            code="invalid_value",
            param=root,
        )
    for index, tool in enumerate(cast("list[Any]", tools)):
        kind: Any = cast("Json", tool).get("type") if isinstance(tool, dict) else None
        if kind != "function":
            raise InvalidEvent(
                f"Invalid '{root}[{index}].type': expected 'function' (tools of this session are carried out by its client); got {kind!r}.",
                code="invalid_value",
                param=f"{root}[{index}].type",
            )


def _without_unsupported(patch: Json) -> Json:
    """What a client may ask for and no engine of ours does: accepted, and echoed as off (a capability is never claimed)."""
    out = {**patch, **{key: None for key in ("tracing", "prompt") if key in patch}}
    audio = out.get("audio")
    if isinstance(audio, dict):
        given = cast("Json", audio).get("input")
        if isinstance(given, dict) and "noise_reduction" in given:
            out["audio"] = {**cast("Json", audio), "input": {**cast("Json", given), "noise_reduction": None}}
    return out


def _at(value: Json, *path: str) -> Json | None:
    """The object at `path`, or None where there is none."""
    here: Any = value
    for step in path:
        here = cast("Json", here).get(step) if isinstance(here, dict) else None
    return cast("Json", here) if isinstance(here, dict) else None


def _completed(asked: Json, current: TurnDetection | None) -> Json:
    """A partial turn detection, completed: from the current one where the type is the same, else from the type's defaults."""
    kind = asked.get("type") or (current.type if current else "server_vad")
    if current is not None and kind == current.type:
        base = current
    elif kind == "semantic_vad":
        base = SemanticVad()
    else:
        base = ServerVad()
    filled = {**base.model_dump(), "type": kind}
    for key, value in asked.items():
        if value is not None or key == "idle_timeout_ms":
            filled[key] = value
    return filled
