"""The configured grants of realms; plugins import them from `api`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from sluicegate.api.errors import InvalidRequest

_SCHEMES: Mapping[str, str] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abfs"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
}
_LOCATION = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)((?:/.*)?)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SEGMENT_END = re.compile(r"[/\\?#]")  # clients that parse a location as a URL end its path at ? or #
_DECODINGS = 4  # writers don't percent-encode a path more often
_SHOWN = 200  # characters of a location in a message


@dataclass(frozen=True, slots=True)
class RealmGrant:
    """The catalogs, locations, and operations that tasks of a realm can use; none by default.

    Attributes:
        operations: Operations that clients of the realm can submit; `None` for all.
        catalogs: Catalogs of the executors that its tasks can name; `None` for all.
        locations: Directories that contain all files that its tasks access, in the form of
            `comparable_location`. `None` allows every location that a catalog of the realm reports for
            its tables, but no location that only a payload names.
    """

    operations: frozenset[str] | None = frozenset()
    catalogs: frozenset[str] | None = frozenset()
    locations: tuple[str, ...] | None = ()

    def allows_operation(self, operation: str) -> bool:
        """Whether clients can submit an operation."""
        return self.operations is None or operation in self.operations

    def allows_catalog(self, catalog: str) -> bool:
        """Whether a task can name a catalog of its executor."""
        return self.catalogs is None or catalog in self.catalogs

    def allows_location(self, location: str, *, of_catalog: bool) -> bool:
        """Whether a task can access a directory or a file.

        Args:
            location: Literal location with its scheme. Ambiguous locations are rejected.
            of_catalog: Whether a catalog of the realm reports the location for a table, or files of
                such a table name it. `False` if only the payload names it.
        """
        if self.locations is None:
            return of_catalog
        try:
            spelled = comparable_location(location)
        except InvalidRequest:
            return False
        return spelled.startswith(self.locations)


def comparable_location(location: str) -> str:
    """Return the form of a location for comparisons, with a trailing slash.

    Equivalent schemes have one form (`s3a://` becomes `s3://`), as do the two hosts of an Azure
    account.

    Raises:
        InvalidRequest: It is not a location, or clients of stores may interpret it differently.
    """
    parts = _LOCATION.fullmatch(location)
    if parts is None:
        raise InvalidRequest(
            f"'{location[:_SHOWN]}' is not a location: it has no scheme, such as s3://"
        )
    scheme, authority, path = parts[1].lower(), parts[2], parts[3]
    if _CONTROL.search(location) or _is_ambiguous(path):
        raise InvalidRequest(
            f"the location '{location[:_SHOWN]}' is ambiguous: remove '.', '..' and control characters"
        )
    scheme = _SCHEMES.get(scheme, scheme)
    if scheme == "abfs":
        authority = authority.lower().replace(".blob.", ".dfs.")
    return f"{scheme}://{authority}{path.rstrip('/')}/"


def _is_ambiguous(path: str) -> bool:
    """Whether a client could resolve the path to another one after decoding it several times."""
    for _ in range(_DECODINGS):
        if {".", ".."} & set(_SEGMENT_END.split(path)):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True
