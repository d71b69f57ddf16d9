"""The Starlette application: every surface over one `Calls`."""

from __future__ import annotations

from starlette.applications import Starlette

from realtime_harness.call import CallLimits, Calls
from realtime_harness.clock import SystemClock
from realtime_harness.realtime.engine import Clock
from realtime_harness.serve.auth import KeyRing
from realtime_harness.serve.chat import ChatEndpoint
from realtime_harness.serve.health import HealthEndpoint
from realtime_harness.serve.hrp import HrpEndpoint
from realtime_harness.serve.limits import ServeLimits
from realtime_harness.serve.page import PageEndpoint
from realtime_harness.serve.spec import SpecEndpoint
from realtime_harness.serve.uhp import UhpEndpoint
from realtime_harness.tasks import Tasks


def create_app(
    calls: Calls,
    keys: KeyRing,
    *,
    clock: Clock | None = None,
    limits: ServeLimits | None = None,
    call_limits: CallLimits | None = None,
    chat: ChatEndpoint | None = None,
    tasks: Tasks | None = None,
) -> Starlette:
    """All surfaces. `calls`, `chat` (the model endpoint) and `tasks` (UHP) are made ready by whoever owns them, not here."""
    hrp = HrpEndpoint(calls, keys, clock or SystemClock(), limits or ServeLimits(), call_limits or CallLimits())
    # UHP's first: where it is served, /v1/models is one body for it and for OpenAI's clients.
    uhp = [UhpEndpoint(tasks, keys, chat.listed if chat is not None else list)] if tasks is not None else []
    plain = (HealthEndpoint(calls), SpecEndpoint(), PageEndpoint(), *uhp, *([chat] if chat is not None else []))
    return Starlette(routes=[*hrp.routes(), *(route for endpoint in plain for route in endpoint.routes())])
