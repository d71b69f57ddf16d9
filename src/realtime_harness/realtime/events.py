"""HRP events: the contract above a `Conversation`. Slotted dataclasses; audio is bytes here, base64 only in `codec`.

Sources: HRP 0.2.0 (both event lists) and the few more of OpenAI Realtime (GA) that ordinary clients need.
Fields that we do not know are kept in `extra` and survive a round trip.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from realtime_harness.realtime.wire import Json, new_object

# --- what a client sends -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEventBase:
    """`event_id` is the client's; an `error` event that answers this event carries it."""

    type: ClassVar[str]
    event_id: str | None = None
    extra: Json = field(default_factory=new_object)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdate(ClientEventBase):
    """A partial session, merged deeply."""

    type: ClassVar[str] = "session.update"
    session: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioAppend(ClientEventBase):
    """`audio`: PCM16 mono 24 kHz bytes; may end in the middle of a sample."""

    type: ClassVar[str] = "input_audio_buffer.append"
    audio: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioCommit(ClientEventBase):
    """Makes what is in the buffer a user turn; never a reply."""

    type: ClassVar[str] = "input_audio_buffer.commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioClear(ClientEventBase):
    """Drops what is in the buffer, and the open turn with it."""

    type: ClassVar[str] = "input_audio_buffer.clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCreate(ClientEventBase):
    """Adds an item after `previous_item_id` (None: at the end; "root": first)."""

    type: ClassVar[str] = "conversation.item.create"
    item: Json
    previous_item_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRetrieve(ClientEventBase):
    """Asks for an item as the engine has it."""

    type: ClassVar[str] = "conversation.item.retrieve"
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDelete(ClientEventBase):
    """Takes an item out of the conversation."""

    type: ClassVar[str] = "conversation.item.delete"
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTruncate(ClientEventBase):
    """Cuts an assistant's spoken item at what was heard."""

    type: ClassVar[str] = "conversation.item.truncate"
    item_id: str
    content_index: int
    audio_end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCreate(ClientEventBase):
    """Asks for a response; `response` holds overrides."""

    type: ClassVar[str] = "response.create"
    response: Json = field(default_factory=new_object)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCancel(ClientEventBase):
    """Stops the response in progress, or the one named."""

    type: ClassVar[str] = "response.cancel"
    response_id: str | None = None


ClientEvent = (
    SessionUpdate
    | AudioAppend
    | AudioCommit
    | AudioClear
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ItemTruncate
    | ResponseCreate
    | ResponseCancel
)

# --- what a client is sent -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEventBase:
    """`event_id` is unique within a session."""

    type: ClassVar[str]
    event_id: str
    extra: Json = field(default_factory=new_object)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated(ServerEventBase):
    """The first event of a session."""

    type: ClassVar[str] = "session.created"
    session: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdated(ServerEventBase):
    """Answers every `session.update` with the full effective session."""

    type: ClassVar[str] = "session.updated"
    session: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStarted(ServerEventBase):
    """Milliseconds of appended audio at the onset, less the prefix padding."""

    type: ClassVar[str] = "input_audio_buffer.speech_started"
    audio_start_ms: int
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStopped(ServerEventBase):
    """Milliseconds of appended audio at the end, the silence included."""

    type: ClassVar[str] = "input_audio_buffer.speech_stopped"
    audio_end_ms: int
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioCommitted(ServerEventBase):
    """The buffer has become the user item `item_id`."""

    type: ClassVar[str] = "input_audio_buffer.committed"
    item_id: str
    previous_item_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioCleared(ServerEventBase):
    """The buffer is empty."""

    type: ClassVar[str] = "input_audio_buffer.cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutTriggered(ServerEventBase):
    """Nobody spoke for `idle_timeout_ms`: the engine takes the turn."""

    type: ClassVar[str] = "input_audio_buffer.timeout_triggered"
    audio_start_ms: int
    audio_end_ms: int
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAdded(ServerEventBase):
    """An item stands in the conversation, perhaps still unfinished."""

    type: ClassVar[str] = "conversation.item.added"
    item: Json
    previous_item_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDone(ServerEventBase):
    """An item is finished."""

    type: ClassVar[str] = "conversation.item.done"
    item: Json
    previous_item_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRetrieved(ServerEventBase):
    """Answers `conversation.item.retrieve`."""

    type: ClassVar[str] = "conversation.item.retrieved"
    item: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDeleted(ServerEventBase):
    """Answers `conversation.item.delete`."""

    type: ClassVar[str] = "conversation.item.deleted"
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTruncated(ServerEventBase):
    """Answers `conversation.item.truncate`: where the item was really cut."""

    type: ClassVar[str] = "conversation.item.truncated"
    item_id: str
    content_index: int
    audio_end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionDelta(ServerEventBase):
    """A piece of what the participant said."""

    type: ClassVar[str] = "conversation.item.input_audio_transcription.delta"
    item_id: str
    content_index: int
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionCompleted(ServerEventBase):
    """All that the participant said in one turn."""

    type: ClassVar[str] = "conversation.item.input_audio_transcription.completed"
    item_id: str
    content_index: int
    transcript: str
    usage: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionFailed(ServerEventBase):
    """The words of one turn could not be had."""

    type: ClassVar[str] = "conversation.item.input_audio_transcription.failed"
    item_id: str
    content_index: int
    error: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCreated(ServerEventBase):
    """A response begins."""

    type: ClassVar[str] = "response.created"
    response: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseDone(ServerEventBase):
    """A response has ended: the one terminal event, always with usage."""

    type: ClassVar[str] = "response.done"
    response: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItemAdded(ServerEventBase):
    """A response opens an item."""

    type: ClassVar[str] = "response.output_item.added"
    response_id: str
    output_index: int
    item: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItemDone(ServerEventBase):
    """A response closes an item."""

    type: ClassVar[str] = "response.output_item.done"
    response_id: str
    output_index: int
    item: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEventBase(ServerEventBase):
    """Names one content part of one item of one response."""

    response_id: str
    item_id: str
    output_index: int
    content_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPartAdded(PartEventBase):
    """An item opens a part."""

    type: ClassVar[str] = "response.content_part.added"
    part: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPartDone(PartEventBase):
    """An item closes a part."""

    type: ClassVar[str] = "response.content_part.done"
    part: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputAudioDelta(PartEventBase):
    """`delta`: PCM16 mono 24 kHz, whole samples, 20 to 200 ms of ours (HRP: at most 2000 ms)."""

    type: ClassVar[str] = "response.output_audio.delta"
    delta: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputAudioDone(PartEventBase):
    """No more audio in this part."""

    type: ClassVar[str] = "response.output_audio.done"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTranscriptDelta(PartEventBase):
    """A piece of what the voice says."""

    type: ClassVar[str] = "response.output_audio_transcript.delta"
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTranscriptDone(PartEventBase):
    """All that the voice says in this part."""

    type: ClassVar[str] = "response.output_audio_transcript.done"
    transcript: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTextDelta(PartEventBase):
    """A piece of a written answer."""

    type: ClassVar[str] = "response.output_text.delta"
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTextDone(PartEventBase):
    """A written answer, whole."""

    type: ClassVar[str] = "response.output_text.done"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionArgumentsDelta(ServerEventBase):
    """A piece of a call's arguments."""

    type: ClassVar[str] = "response.function_call_arguments.delta"
    response_id: str
    item_id: str
    output_index: int
    call_id: str
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionArgumentsDone(ServerEventBase):
    """A call, whole: `arguments` is a JSON text."""

    type: ClassVar[str] = "response.function_call_arguments.done"
    response_id: str
    item_id: str
    output_index: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent(ServerEventBase):
    """Something was refused. The session goes on, unless the connection then closes."""

    type: ClassVar[str] = "error"
    error: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownServerEvent:
    """An event of a type that this version does not know: known as such, and kept whole."""

    type: str
    raw: Json


ServerEvent = (
    SessionCreated
    | SessionUpdated
    | SpeechStarted
    | SpeechStopped
    | AudioCommitted
    | AudioCleared
    | TimeoutTriggered
    | ItemAdded
    | ItemDone
    | ItemRetrieved
    | ItemDeleted
    | ItemTruncated
    | TranscriptionDelta
    | TranscriptionCompleted
    | TranscriptionFailed
    | ResponseCreated
    | ResponseDone
    | OutputItemAdded
    | OutputItemDone
    | ContentPartAdded
    | ContentPartDone
    | OutputAudioDelta
    | OutputAudioDone
    | OutputTranscriptDelta
    | OutputTranscriptDone
    | OutputTextDelta
    | OutputTextDone
    | FunctionArgumentsDelta
    | FunctionArgumentsDone
    | ErrorEvent
)

# --- what only the harness sees ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UserSaid:
    """rth.user_said: the words of a user turn, whether or not the client asked for them. Never reaches an HRP client."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AssistantHeard:
    """rth.assistant_heard: an assistant item was cut; `text` is what was heard of it."""

    item_id: str
    audio_end_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """rth.reconnected: the engine's own connection was replaced."""

    reason: str


@dataclass(frozen=True, slots=True)
class EngineEnded:
    """rth.engine_ended: the engine's session is over and why; no event follows."""

    code: str
    message: str


EngineEvent = UserSaid | AssistantHeard | Reconnected | EngineEnded
