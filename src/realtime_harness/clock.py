"""The real clock. Everything that waits is given one, so that tests run on a virtual clock (DESIGN 4.2)."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Monotonic seconds of this machine."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean something."""
        return time.monotonic()

    async def sleep_until(self, when: float) -> None:
        """Returns at `when`, or at once when it has passed."""
        await asyncio.sleep(max(0.0, when - time.monotonic()))
