"""What the comparison requires of a table's writer, which reads it back without the gateway."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa
from histories.history import Operation

# The columns that a change feed has behind those of the table.
CHANGE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"


class Gone(Exception):
    """Files of a version were vacuumed."""


class FeedOff(Exception):
    """The change data feed was off in some version of a range."""


class NoResponse(Exception):
    """The writer's own reader cannot say, because of a limitation of its own."""


class Oracle(Protocol):
    """A table, and its writer's own reader. Versions are whatever the writer made of the operations."""

    def apply(self, operation: Operation) -> None:
        """Carry out an operation; some commit nothing, some more than once."""

    def version(self) -> int:
        """The latest version."""

    def version_at(self, timestamp: int) -> int:
        """The version that was the latest at a time (epoch milliseconds)."""

    def timestamp(self, version: int) -> int:
        """When a version was committed (epoch milliseconds)."""

    def columns(self, version: int) -> list[tuple[str, str]]:
        """Names and Delta types of the columns of a version, in their order."""

    def files(self, version: int) -> set[str]:
        """The live files of a version: literal paths, relative to the table."""

    def rows(self, version: int) -> pa.Table:
        """The rows of a version."""

    def changes(self, first: int, last: int) -> pa.Table:
        """The change data feed of a range of versions, with its three columns."""


def delta_columns(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and types in a Delta schema (its JSON)."""
    return [(field["name"], field["type"]) for field in schema["fields"]]
