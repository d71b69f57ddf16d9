"""The engine-side machine: the sole source of ids and server events, on every engine. Sans-I/O. DESIGN sections 4 and 5."""

from realtime_harness.conversation.machine import Conversation
from realtime_harness.conversation.outbox import Output

__all__ = ["Conversation", "Output"]
