"""What tasks of a realm may touch, as the configuration grants it; plugins get it from `api`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from sluicegate.errors import InvalidRequest

_SCHEMES: Mapping[str, str] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abfs"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
}
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)((?:/.*)?)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SEGMENT_END = re.compile(r"[/\\?#]")  # clients that read a location as a URL end its path at ? or #
_DECODINGS = 4  # a path that was percent-encoded more often is no writer's
_SHOWN = 200  # characters of a location in a message


@dataclass(frozen=True, slots=True)
class RealmGrant:
    """What tasks of a realm may touch; nothing, unless something is granted.

    Attributes:
        operations: Operations that clients of the realm may hand over; `None` for every one.
        catalogs: Catalogs of the executors that its tasks may name; `None` for every one.
        locations: Directories that hold whatever its tasks touch, in the spelling of
            `comparable_location`; `None` for the tables of its catalogs, wherever these say they are,
            and for no location that only a payload names.
    """

    operations: frozenset[str] | None = frozenset()
    catalogs: frozenset[str] | None = frozenset()
    locations: tuple[str, ...] | None = ()

    def allows_operation(self, operation: str) -> bool:
        """Whether an operation may be handed over."""
        return self.operations is None or operation in self.operations

    def allows_catalog(self, catalog: str) -> bool:
        """Whether a task may name a catalog of its executor."""
        return self.catalogs is None or catalog in self.catalogs

    def allows_location(self, location: str, *, of_catalog: bool) -> bool:
        """Whether a task may touch a directory or a file.

        Args:
            location: Literal, with its scheme; one that can be read in more than one way is refused.
            of_catalog: A catalog of the realm says that the table is there, or the files of such a
                table name it; `False` where only the payload does.
        """
        if self.locations is None:
            return of_catalog
        try:
            spelled = comparable_location(location)
        except InvalidRequest:
            return False
        return spelled.startswith(self.locations)


def comparable_location(location: str) -> str:
    """A location with a slash at its end, in the one spelling by which locations are compared.

    The schemes of a cloud are one (`s3a://` is `s3://`), and so are Azure's two hosts of an account.

    Raises:
        InvalidRequest: It is no location, or clients of stores may disagree about where it leads.
    """
    parts = _LOCATION.fullmatch(location)
    if parts is None:
        raise InvalidRequest(f"'{location[:_SHOWN]}' is no location: it has no scheme, such as s3://")
    scheme, authority, path = parts[1].lower(), parts[2], parts[3]
    if _CONTROL.search(location) or _is_ambiguous(path):
        raise InvalidRequest(
            f"'{location[:_SHOWN]}' does not say clearly where it leads: leave out '.', '..' and "
            "control characters"
        )
    scheme = _SCHEMES.get(scheme, scheme)
    if scheme == "abfs":
        authority = authority.lower().replace(".blob.", ".dfs.")
    return f"{scheme}://{authority}{path.rstrip('/')}/"


def _is_ambiguous(path: str) -> bool:
    """Whether a client may resolve the path to another one, however often it decodes the path."""
    for _ in range(_DECODINGS):
        if {".", ".."} & set(_SEGMENT_END.split(path)):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True
