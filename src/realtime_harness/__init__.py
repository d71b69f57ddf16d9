"""Puts any realtime voice model behind a stable contract."""

__version__ = "0.1.0"
