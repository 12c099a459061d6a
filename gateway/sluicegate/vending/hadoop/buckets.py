"""Groups tables by bucket. Hadoop looks up tokens by bucket, so each bucket needs one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import CatalogTable, SharedTable

_SCHEMES = ("s3", "r2")


@dataclass(frozen=True, slots=True)
class TableDirectories:
    """A table that a token must give access to."""

    shared: SharedTable
    source: CatalogTable
    locations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BucketScope:
    """The scope of one token: directories of tables in one bucket.

    Attributes:
        locations: Their directories in the bucket, sorted and without duplicates.
    """

    bucket: str
    tables: tuple[TableDirectories, ...]
    locations: tuple[str, ...]

    @property
    def service(self) -> str:
        """The token's service, by which S3A looks it up."""
        return f"s3a://{self.bucket}"


def by_bucket(tables: Sequence[TableDirectories]) -> list[BucketScope]:
    """Return the buckets of tables, in the order of the tables."""
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
            f"S3A delegation tokens are only for S3, and {table.shared.full_name} is not in S3"
        )
    return rest.partition("/")[0]
