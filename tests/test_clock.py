"""Waiting by a clock: for the first of several things, and for a machine that says when it is due."""

from __future__ import annotations

import asyncio

import pytest

from realtime_harness.clock import Alarm, first_of
from tests.fakes.clock import VirtualClock, settle

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class Machine:
    """Is due at `due`; counts how often it was."""

    def __init__(self, clock: VirtualClock, due: float | None) -> None:
        self.due = due
        self.rang: list[float] = []
        self.alarm = Alarm(clock, lambda: self.due)
        self._clock = clock

    async def run(self) -> None:
        while True:
            await self.alarm.rings()
            self.rang.append(self._clock.now())
            self.due = None


async def test_an_alarm_rings_when_its_machine_is_due_and_not_before() -> None:
    clock = VirtualClock(now=0)
    machine = Machine(clock, due=10)
    task = asyncio.create_task(machine.run())
    await clock.advance(9.9)
    assert machine.rang == []
    await clock.advance(100)
    assert machine.rang == [10]
    task.cancel()


@pytest.mark.parametrize("before", [None, 50.0])
async def test_an_alarm_that_is_told_of_an_earlier_time_rings_then(before: float | None) -> None:
    clock = VirtualClock(now=0)
    machine = Machine(clock, due=before)
    task = asyncio.create_task(machine.run())
    await settle()
    machine.due = 20
    machine.alarm.check()
    await clock.advance(30)
    assert machine.rang == [20]
    task.cancel()


async def test_the_first_to_be_over_ends_the_others() -> None:
    never, others = asyncio.Event(), len(asyncio.all_tasks())
    await first_of(never.wait(), asyncio.sleep(0), never.wait())
    assert len(asyncio.all_tasks()) == others


async def test_nobody_is_waited_for_longer_than_was_said() -> None:
    await first_of(asyncio.Event().wait(), timeout_s=0.01)
