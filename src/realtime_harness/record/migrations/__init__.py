"""Migrations, one small named step each (alembic)."""
