"""The harness-side of every connection: the machine (`Call`), what it is made from, and the runner (`Calls`).

Sees the engine protocol, never an engine. docs/design.md 4.
"""

from realtime_harness.call.calls import Calls, CallsLimits
from realtime_harness.call.machine import Call, Drain, close_reason
from realtime_harness.call.plan import CallLimits, CallPlan, Grant
from realtime_harness.call.surface import Emit, Malformed, Surface

__all__ = [
    "Call",
    "CallLimits",
    "CallPlan",
    "Calls",
    "CallsLimits",
    "Drain",
    "Emit",
    "Grant",
    "Malformed",
    "Surface",
    "close_reason",
]
