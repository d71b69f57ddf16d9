"""Surfaces: one small module for each, over `Calls`. Never sees an engine."""

from realtime_harness.serve.application import create_app
from realtime_harness.serve.auth import KeyRing
from realtime_harness.serve.chat import ChatEndpoint, ServedMind
from realtime_harness.serve.journal import Journal
from realtime_harness.serve.limits import ServeLimits
from realtime_harness.serve.server import Server, listen

__all__ = ["ChatEndpoint", "Journal", "KeyRing", "ServeLimits", "ServedMind", "Server", "create_app", "listen"]
