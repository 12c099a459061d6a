"""Runs the recipients service for a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from sluicegate._util.clock import epoch_ms
from sluicegate.cli.context import run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.recorded import CommandChange

if TYPE_CHECKING:
    from sluicegate.access.recipients.details import RecipientDetails
    from sluicegate.access.recipients.service import Recipients
    from sluicegate.config import Settings

_Result = TypeVar("_Result")


def run_service(
    settings: Settings,
    work: Callable[[Recipients], Awaitable[_Result]],
    change: CommandChange | None = None,
) -> _Result:
    """Open the configured database, and return the result of `work` with its recipients.

    Args:
        settings: The configuration.
        work: Uses the recipients.
        change: What `work` changes, which is recorded in the audit log before.

    Raises:
        ConfigurationError: The database cannot be opened, or fails during use.
    """
    from sluicegate.access.recipients.service import Recipients

    async def run() -> _Result:
        async with open_store(settings, change) as store:
            tokens = settings.recipients
            service = Recipients(
                store, token_lifetime=tokens.token_lifetime, rotation_grace=tokens.rotation_grace
            )
            return await work(service)

    return run_async(run())


def read_details(settings: Settings, name: str) -> RecipientDetails:
    """What is known about a recipient.

    Raises:
        NotFound: The recipient does not exist.
        ConfigurationError: The database cannot be opened, or fails during use.
    """
    from sluicegate.access.recipients.details import recipient_details

    async def read() -> RecipientDetails:
        async with open_store(settings) as store, store.read() as connection:
            return await recipient_details(connection, name, epoch_ms())

    return run_async(read())
