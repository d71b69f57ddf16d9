"""The engine-side machine: the sole source of an engine session's ids and events, on every engine. Sans-I/O.

What never reaches it (malformed input, an expired call) is answered by `call/machine.py`. docs/design.md 4 and 5.
"""

from realtime_harness.conversation.machine import Conversation
from realtime_harness.conversation.outbox import Output

__all__ = ["Conversation", "Output"]
