"""Decides which manifests a conversion reads: all of them, or those that changed since the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluicegate.api import TableUnreadable
from sluicegate_iceberg.format.manifests.manifest_files import DATA, DELETES, Manifest
from sluicegate_iceberg.format.metadata.required import required_columns
from sluicegate_iceberg.format.metadata.schema import Struct
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_delta.converted_table import FILES, MODE
from sluicegate_spark.conversion.to_delta.distributed.manifest_rows import Reading
from sluicegate_spark.conversion.to_delta.iceberg_source import IcebergSource


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a snapshot."""

    data: Sequence[Manifest]
    deletes: Sequence[Manifest]

    @classmethod
    def of(cls, manifests: Sequence[Manifest]) -> Manifests:
        """Return manifests by their content."""
        data, deletes = (
            [each for each in manifests if each.content == kind] for kind in (DATA, DELETES)
        )
        return cls(data, deletes)

    @property
    def files(self) -> int | None:
        """Return the number of live data files, or `None` if the manifest list doesn't contain it."""
        counts = [each.live for each in self.data]
        return None if None in counts else sum(count or 0 for count in counts)


@dataclass(frozen=True, slots=True)
class Scope:
    """The manifests whose files a conversion compares with the log.

    Attributes:
        former: Data manifests that only the converted snapshot has; `None` if all files of the log are
            compared.
    """

    data: Sequence[Manifest]
    former: Sequence[Manifest] | None


async def scope_of(
    source: IcebergSource, current: Manifests, reading: Reading, recorded: Mapping[str, str]
) -> Scope:
    """Return the changed manifests, or all of them if these are not sufficient.

    They are sufficient if the log contains exactly the files of the snapshot that was converted last,
    that snapshot still exists, its rows were deleted by the same manifests, and its files were checked
    in the same way.
    """
    everything = Scope(current.data, None)
    origin = Origin.of(recorded)
    if origin is None or recorded.get(MODE) != reading.shape.configuration.get(MODE):
        return everything  # statistics contain other column names
    try:
        former = await source.at(origin.state)
        manifests = Manifests.of(await former.manifests())
    except TableUnreadable:
        return everything  # the snapshot expired
    checked = required_columns(former.metadata, Struct(former.lineage.schema.fields))
    if (
        former.id != source.id
        or _paths(manifests.deletes) != _paths(current.deletes)
        or str(manifests.files) != recorded.get(FILES)
        or not reading.required.keys() <= checked.keys()
    ):
        return everything
    known, needed = _paths(manifests.data), _paths(current.data)
    return Scope(
        [each for each in current.data if each.path not in known],
        [each for each in manifests.data if each.path not in needed],
    )


def _paths(manifests: Sequence[Manifest]) -> frozenset[str]:
    return frozenset(each.path for each in manifests)
