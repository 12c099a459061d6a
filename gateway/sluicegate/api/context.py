"""The interface of the core that configured instances use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sluicegate.api.delegation.snapshot_indexes import SnapshotIndexes
from sluicegate.api.models import ObjectDirectory, Presigned


class LinkSigner(Protocol):
    """Signs links to files that the gateway itself serves, for stores that cannot presign."""

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Sign links to objects of this storage instance, by their paths below its prefix."""


class PluginContext(Protocol):
    """The interface of the core that a configured instance uses."""

    @property
    def name(self) -> str:
        """The name of the instance in the configuration, for messages."""

    @property
    def links(self) -> LinkSigner:
        """Signs gateway links for this instance's own locations."""

    async def open(self, location: str) -> ObjectDirectory:
        """Open a location with the storage instance that has the longest matching prefix.

        Raises:
            ConfigurationError: No configured storage serves the location.
        """


class ExecutorContext(PluginContext, Protocol):
    """The interface of the core that a configured task executor uses."""

    @property
    def snapshot_indexes(self) -> SnapshotIndexes | None:
        """Builds snapshot indexes. `None` if the configuration has no `index.location`."""
