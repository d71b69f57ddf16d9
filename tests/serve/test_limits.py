"""Rates, on times that are only numbers."""

from __future__ import annotations

from realtime_harness.serve.limits import Bucket, Buckets, Rate, ServeLimits


def test_a_burst_costs_no_wait_and_what_is_beyond_does() -> None:
    bucket = Bucket(Rate(per_s=10, burst=5), now=0)
    assert [bucket.take(1, 0) for _ in range(6)] == [0, 0, 0, 0, 0, 0.1]


def test_a_bucket_fills_again_and_not_beyond_its_burst() -> None:
    bucket = Bucket(Rate(per_s=10, burst=5), now=0)
    bucket.take(5, 0)
    assert bucket.take(1, 0.1) == 0
    assert bucket.take(6, 100) == 0.1


def test_audio_at_real_time_never_waits_and_at_ten_times_it_hardly_does() -> None:
    limits = ServeLimits()
    events, octets = Bucket(limits.events_in, 0), Bucket(limits.bytes_in, 0)
    waits = []
    for step in range(3_000):  # a minute in chunks of 20 ms, in six seconds
        now = step * 0.002
        waits.append(max(events.take(1, now), octets.take(1_340, now)))
    assert max(waits) == 0


def test_attempts_are_counted_by_name_and_old_names_are_forgotten() -> None:
    buckets = Buckets(Rate(per_s=1, burst=2), most=2)
    assert [buckets.try_take("a", 0) for _ in range(3)] == [True, True, False]
    assert buckets.try_take("b", 0)
    assert buckets.try_take("c", 0)  # "a" is forgotten
    assert buckets.try_take("a", 0)
