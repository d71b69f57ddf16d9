"""How alembic runs here: on the connection that `record.migrate` gives it."""

from alembic import context

from realtime_harness.record.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
