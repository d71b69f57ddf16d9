"""Text tasks: one turn on a configured harness, recorded as it happens. Over `call` and `record`; knows no HTTP."""

from realtime_harness.tasks.harness import Harness
from realtime_harness.tasks.tasks import Started, Tasks

__all__ = ["Harness", "Started", "Tasks"]
