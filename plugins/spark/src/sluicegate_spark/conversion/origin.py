"""Records in a converted table the source table, and the state of it that was converted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from sluicegate.api import TaskFailed

_PREFIX: Final = "sluicegate.source."
# No engine supports this writer feature. By the Delta protocol, engines therefore reject writes and
# VACUUM.
MIRROR_FEATURE: Final = "sluicegateMirror"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a converted table, and the state of it that was converted.

    Attributes:
        moment: Orders the states of a source: the time of the last change of an Iceberg table (epoch
            milliseconds), or the version of a Delta table.
    """

    id: str
    state: str
    moment: int

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self | None:
        """Return the origin that a table's properties record, if any."""
        try:
            found = (properties[_PREFIX + name] for name in ("id", "state", "moment"))
            id_, state, moment = found
            return cls(id_, state, int(moment))
        except (KeyError, ValueError):
            return None

    def properties(self) -> dict[str, str]:
        """Return the origin as properties of the converted table."""
        values = {"id": self.id, "state": self.state, "moment": str(self.moment)}
        return {_PREFIX + name: value for name, value in values.items()}

    def is_contained_in(self, recorded: Origin | None, table: str) -> bool:
        """Whether a converted table already contains this state of the source, or a later one."""
        if recorded is None or recorded.id != self.id:
            raise TaskFailed(
                f"{table} already exists, and it was not converted from this table",
                error_code="INVALID_PAYLOAD",
            )
        return recorded.state == self.state or recorded.moment > self.moment
