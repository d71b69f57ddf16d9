"""The tables, as the newest migration leaves them. JSON is kept as text, so that any database holds it the same."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("owner", String(128), nullable=False),
    Column("harness_id", String(128), nullable=False),
    Column("title", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("sessions_by_owner", "owner", "updated_at"),
)

responses = Table(
    "responses",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("session_id", String(64), ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("owner", String(128), nullable=False),
    Column("place", Integer, nullable=False),  # in its session
    Column("status", String(16), nullable=False),
    Column("input", Text, nullable=False),
    Column("body", Text, nullable=False),  # the response object as it is now
    Column("stored", Boolean, nullable=False),
    Column("lease", String(64)),  # of the process that runs it; null when it has ended
    Column("lease_until", Float),  # Unix seconds
    Index("responses_by_session", "session_id", "place", unique=True),
    Index("responses_by_lease", "lease_until"),
)

events = Table(
    "events",
    metadata,
    Column("response_id", String(64), ForeignKey("responses.id", ondelete="CASCADE"), primary_key=True),
    Column("sequence_number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("owner", String(128), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("response_id", String(64), nullable=False),
    Column("request", String(64), nullable=False),  # SHA-256 of what was asked
    Column("created_at", BigInteger, nullable=False),
)
