"""What a converted table remembers of the table that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from sluicegate.api import TaskFailed

_PREFIX: Final = "sluicegate.source."
# A feature that no writer knows, so Delta's rules keep writers and VACUUM away from the source's files.
READ_ONLY: Final = "sluicegateMirror"


@dataclass(frozen=True, slots=True)
class Origin:
    """The state of the source that a converted table shows.

    Attributes:
        id: The source's own id.
        state: Of an Iceberg table, its metadata file; of a Delta table, its version.
        moment: Orders the states of a source: when an Iceberg table changed last (epoch milliseconds),
            the version of a Delta table.
    """

    id: str
    state: str
    moment: int

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self | None:
        """The origin that a table's properties name, if any."""
        try:
            found = (properties[_PREFIX + name] for name in ("id", "state", "moment"))
            id_, state, moment = found
            return cls(id_, state, int(moment))
        except (KeyError, ValueError):
            return None

    def properties(self) -> dict[str, str]:
        """As properties of the converted table."""
        values = {"id": self.id, "state": self.state, "moment": str(self.moment)}
        return {_PREFIX + name: value for name, value in values.items()}

    def is_shown_by(self, shown: Origin | None, table: str) -> bool:
        """Whether a converted table shows this state of the source already, or a later one.

        Args:
            shown: What the converted table remembers.
            table: What it is, for the message.

        Raises:
            TaskFailed: It is somebody else's.
        """
        if shown is None or shown.id != self.id:
            raise TaskFailed(
                f"there is {table} already, and it was not converted from this table",
                error_code="INVALID_PAYLOAD",
            )
        return shown.state == self.state or shown.moment > self.moment
