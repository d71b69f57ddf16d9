"""The limits of the surfaces, and the bucket that enforces the ones that are rates."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_s` in the long run, `burst` at once."""

    per_s: float
    burst: float


@dataclass(frozen=True, slots=True)
class ServeLimits:
    """What one client may do. Beyond the rates of what comes in we stop reading; beyond the bounds of what goes out the
    client is closed with a reason."""

    max_frame_bytes: int = 16 * MIB  # beyond: close 1009
    events_in: Rate = Rate(per_s=1_000, burst=2_000)
    bytes_in: Rate = Rate(per_s=1.5 * MIB, burst=32 * MIB)  # audio in base64 takes 64,000 bytes per second
    max_behind_bytes: int = 8 * MIB
    max_behind_s: float = 15.0
    attempts: Rate = Rate(per_s=20, burst=200)  # connections of one address
    ping_interval_s: float = 10.0
    ping_timeout_s: float = 20.0
    send_buffer_bytes: int = 256 * 1024  # of the kernel: some seconds of audio


class Bucket:
    """A rate, followed. Times are monotonic seconds."""

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._level = rate.burst
        self._at = now

    def take(self, amount: float, now: float) -> float:
        """Takes `amount`, always; returns how long to wait in seconds before taking more."""
        self._fill(now)
        self._level -= amount
        return max(0.0, -self._level / self._rate.per_s)

    def try_take(self, amount: float, now: float) -> bool:
        """Takes `amount` where it is there."""
        self._fill(now)
        if self._level < amount:
            return False
        self._level -= amount
        return True

    def _fill(self, now: float) -> None:
        self._level = min(self._rate.burst, self._level + (now - self._at) * self._rate.per_s)
        self._at = now


class Buckets:
    """A bucket for each name; the names that were not seen for longest are forgotten beyond `most`."""

    def __init__(self, rate: Rate, most: int = 4_096) -> None:
        self._rate = rate
        self._most = most
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def try_take(self, name: str, now: float) -> bool:
        """One of `name`'s, where there is one left."""
        bucket = self._buckets.pop(name, None) or Bucket(self._rate, now)
        self._buckets[name] = bucket
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return bucket.try_take(1, now)
