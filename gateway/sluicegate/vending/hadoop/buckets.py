"""Which buckets some tables lie in: Hadoop looks tokens up by bucket, so there is one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.errors import UnsupportedOperation
from sluicegate.nouns import CatalogTable, SharedTable

_SCHEMES = ("s3", "r2")


@dataclass(frozen=True, slots=True)
class TableDirectories:
    """A table that a token shall open.

    Attributes:
        locations: Its directories, in canonical spelling, root first.
    """

    shared: SharedTable
    source: CatalogTable
    locations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BucketScope:
    """What one token shall open: directories of tables that lie in one bucket.

    Attributes:
        tables: Those that have a directory in it.
        locations: Their directories in it, sorted, each once.
    """

    bucket: str
    tables: tuple[TableDirectories, ...]
    locations: tuple[str, ...]

    @property
    def service(self) -> str:
        """The token's service, as S3A looks it up."""
        return f"s3a://{self.bucket}"


def by_bucket(tables: Sequence[TableDirectories]) -> list[BucketScope]:
    """The buckets of some tables, in the tables' order.

    Raises:
        UnsupportedOperation: A table lies elsewhere than in S3.
    """
    found: dict[str, list[TableDirectories]] = {}
    for table in tables:
        for bucket in dict.fromkeys(_bucket(table, location) for location in table.locations):
            found.setdefault(bucket, []).append(table)
    return [
        BucketScope(
            bucket,
            tuple(inside),
            tuple(
                sorted(
                    {
                        location
                        for table in inside
                        for location in table.locations
                        if _bucket(table, location) == bucket
                    }
                )
            ),
        )
        for bucket, inside in found.items()
    ]


def _bucket(table: TableDirectories, location: str) -> str:
    scheme, _, rest = location.partition("://")
    if scheme not in _SCHEMES:
        raise UnsupportedOperation(
            f"S3A delegation tokens open S3 only, and {table.shared.full_name} lies elsewhere"
        )
    return rest.partition("/")[0]
