"""The entry point of Alembic: runs on the connection that `sluicegate.database.migrate` passes."""

from alembic import context

from sluicegate.database.task_tables import tasks

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tasks.metadata,  # with all tables
    render_as_batch=True,
)
context.run_migrations()
