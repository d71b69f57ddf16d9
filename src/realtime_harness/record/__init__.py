"""The record: sessions, responses and their events, in SQL. Written as things happen; survives the process."""

from realtime_harness.record.store import Claim, Found, Record, StoredResponse, StoredSession

__all__ = ["Claim", "Found", "Record", "StoredResponse", "StoredSession"]
