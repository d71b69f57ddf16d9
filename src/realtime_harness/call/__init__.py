"""The harness-side of every connection: the machine (`Call`), what it is made from, and the runner (`Calls`).

Sees the engine protocol, never an engine. DESIGN section 4.
"""

from realtime_harness.call.calls import Calls, CallsLimits
from realtime_harness.call.machine import Call, Drain, Malformed
from realtime_harness.call.plan import CallLimits, CallPlan, Grant
from realtime_harness.call.surface import Emit, Surface

__all__ = ["Call", "CallLimits", "CallPlan", "Calls", "CallsLimits", "Drain", "Emit", "Grant", "Malformed", "Surface"]
