"""Alembic's entry: runs on the connection that `sluicegate.store.migrate` hands over."""

from alembic import context

from sluicegate.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
