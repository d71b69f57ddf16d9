"""Stateless chat: the Mind protocol, the embedded LLM, and any Chat Completions server."""

from realtime_harness.minds.mind import (
    CallMade,
    ChatChunk,
    ChatMessage,
    ChatRequest,
    ChatTool,
    Finished,
    Mind,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolChoice,
    ToolName,
)

__all__ = [
    "CallMade",
    "ChatChunk",
    "ChatMessage",
    "ChatRequest",
    "ChatTool",
    "Finished",
    "Mind",
    "MindUsage",
    "TextDelta",
    "ToolCall",
    "ToolChoice",
    "ToolName",
]
