"""What the Admin API uses of a gateway, or of a command that manages a database on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sluicegate.api import Catalog, ObjectDirectory, Principal, SluicegateError
from sluicegate.database import Store

if TYPE_CHECKING:
    from sluicegate.plugins.configured import ConfiguredInstances
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan
    from sluicegate.vending.sessions import SessionsOutcome


def _message(error: SluicegateError) -> str:
    return error.message


def _ignore(done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class AdminServices:
    """The services behind the Admin API.

    Attributes:
        end_sessions: Ends the sessions of a recipient that began before a time in epoch milliseconds.
        on_progress: Is called with the number of sources that were looked up, and of all.
    """

    store: Store
    catalogs: Callable[[], Mapping[str, Catalog]]
    end_sessions: Callable[[Principal, int], AsyncIterator[SessionsOutcome]]
    explanations: Callable[[], Awaitable[tuple[Explainer, WhoCan]]]
    configured: Callable[[], ConfiguredInstances]
    open_location: Callable[[str], Awaitable[ObjectDirectory]]
    describe: Callable[[SluicegateError], str] = field(default=_message)
    on_progress: Callable[[int, int], None] = field(default=_ignore)
