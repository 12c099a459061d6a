"""The context of a configured instance: its name, its links, and locations to open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property

from sluicegate.api import LinkSigner, ObjectDirectory, Presigned, SnapshotIndexes
from sluicegate.api.errors import UnsupportedOperation


class InstanceContext:
    """The `api.PluginContext` of one instance, and the `api.ExecutorContext` of an executor."""

    def __init__(
        self,
        name: str,
        open_location: Callable[[str], Awaitable[ObjectDirectory]],
        make_links: Callable[[], LinkSigner],
        snapshot_indexes: SnapshotIndexes | None = None,
    ) -> None:
        self._name = name
        self._open_location = open_location
        self._make_links = make_links
        self._snapshot_indexes = snapshot_indexes

    @property
    def name(self) -> str:
        """The instance's name in the configuration, for messages."""
        return self._name

    @cached_property
    def links(self) -> LinkSigner:
        """The signer of gateway links for this instance's own locations."""
        return self._make_links()

    @property
    def snapshot_indexes(self) -> SnapshotIndexes | None:
        """Builds snapshot indexes, for executors of a worker. `None` without `index.location`."""
        return self._snapshot_indexes

    async def open(self, location: str) -> ObjectDirectory:
        """Open a location through the storage instance that serves it."""
        return await self._open_location(location)


class NoLinks:
    """The links of an instance without its own locations."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Raise an error, because only storage instances sign links."""
        raise UnsupportedOperation(f"{self._owner} has no locations to sign links for")
