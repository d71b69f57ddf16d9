"""The embedded voice agent: ears, mind and mouth on this machine."""

from realtime_harness.engines.local.engine import LocalEngine
from realtime_harness.engines.local.loading import load

__all__ = ["LocalEngine", "load"]
