"""The local engine: an embedded voice agent, with no key and no network."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Sequence
from weakref import WeakSet

from realtime_harness.config import CAPACITY_VARIABLE
from realtime_harness.engines.local.backend import LocalBackend
from realtime_harness.engines.local.ears import Ears
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.engines.session import open_session
from realtime_harness.errors import Refused
from realtime_harness.realtime.engine import Clock, EngineSession, Profile
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.session import Session

CALLS_PER_CORE = 1  # measured with the 1.5B mind: docs/reports/2026-12-01-bench.md
MOST_BY_DEFAULT = 4  # as many conversations as the embedded mind keeps read at once


class LocalEngine:
    """Sessions over one set of loaded models. Make it by `engines.local.load`."""

    def __init__(self, workshop: Workshop, capacity: int) -> None:
        """`capacity`: sessions that may be open at once."""
        self._workshop = workshop
        self._capacity = capacity
        self._open = 0
        self._names = itertools.count(1)
        self._sessions: WeakSet[EngineSession] = WeakSet()  # those that nobody holds any more have ended
        # The mind reads a description of an image; it does not see it.
        self.profile = Profile(name="local", model=f"local/{workshop.mind.name}", images="emulated")

    @property
    def workshop(self) -> Workshop:
        """The models, for other surfaces that use them."""
        return self._workshop

    async def open(self, session: Session, seed: Sequence[Item], clock: Clock) -> EngineSession:
        """Raises Refused (`capacity`) when as many sessions are open as fit."""
        if self._open >= self._capacity:
            raise Refused(
                "capacity",
                f"This engine takes {self._capacity} calls at once, and all are taken. Try again when one has ended, "
                f"or set {CAPACITY_VARIABLE}.",
            )
        self._open += 1
        try:
            ears = await asyncio.to_thread(Ears)  # a detector takes a tenth of a second to make
            backend = LocalBackend(self._workshop, ears, f"session-{next(self._names)}", self.profile.model)
        except BaseException:
            self._ended()
            raise
        # From here on the place is given back by open_session, whatever the end is.
        most_s = self.profile.max_session_s
        opened = await open_session(backend, session, seed, clock, on_close=self._ended, max_session_s=most_s)
        self._sessions.add(opened)
        return opened

    async def close(self) -> None:
        """Ends every session, frees the models and ends their threads. May be called twice."""
        for session in [*self._sessions]:
            await session.close("the engine is closed")
        await self._workshop.close()

    def _ended(self) -> None:
        self._open -= 1


def default_capacity() -> int:
    """As many sessions as were measured to fit this machine."""
    return max(2, min(MOST_BY_DEFAULT, CALLS_PER_CORE * (os.cpu_count() or 1)))
