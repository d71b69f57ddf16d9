"""Sessions, responses with their owner's lease, events, idempotency keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(128), nullable=False),
        sa.Column("harness_id", sa.String(128), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("sessions_by_owner", "sessions", ["owner", "updated_at"])
    op.create_table(
        "responses",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("session_id", sa.String(64), sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("owner", sa.String(128), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("stored", sa.Boolean, nullable=False),
        sa.Column("lease", sa.String(64)),
        sa.Column("lease_until", sa.Float),
    )
    op.create_index("responses_by_session", "responses", ["session_id", "place"], unique=True)
    op.create_index("responses_by_lease", "responses", ["lease_until"])
    op.create_table(
        "events",
        sa.Column("response_id", sa.String(64), sa.ForeignKey("responses.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("sequence_number", sa.Integer, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "idempotency",
        sa.Column("owner", sa.String(128), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("response_id", sa.String(64), nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
