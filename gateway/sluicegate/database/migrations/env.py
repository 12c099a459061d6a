"""The entry point of Alembic: runs on the connection that `sluicegate.database.migrate` passes."""

from alembic import context

from sluicegate.database.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
