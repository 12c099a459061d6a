"""How a Delta table and its converted Iceberg table differ, wherever they are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.formats import LogPart
from sluicegate_spark.conversion.executor_errors import EXPECTED, is_damage, raise_failure
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.partition_summaries import may_contain
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import Row, SnapshotWriter


@dataclass(frozen=True, slots=True)
class Source:
    """What to read of a Delta log.

    Attributes:
        complete: Whether they contain all files of the table, and not only the changes since the
            version that the Iceberg table contains.
    """

    parts: Sequence[LogPart]
    complete: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """How the live files of both tables differ."""

    added: int
    removed: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """Results of the checks of added files.

    Attributes:
        size: Their bytes.
    """

    size: int
    dropped: frozenset[str]


class UnreadablePart(Exception):
    """A part of a checkpoint is damaged, and an older checkpoint might be readable."""

    def __init__(self, name: str, failure: str) -> None:
        super().__init__(name)
        self.name = name
        self.failure = failure


class TooLargeForWorker(Exception):
    """The tables have more metadata than the worker decodes. Nothing was written."""


class TableComparison(Protocol):
    """Compares the tables in steps: on Spark, or in the worker."""

    async def difference(self, source: Source) -> Difference:
        """Compare the live files of both tables."""

    async def check_added(self, count: int) -> CheckedFiles:
        """Read the footers of the added files, and check that Iceberg readers read the same rows."""

    async def write(
        self, writer: SnapshotWriter, added: int, rewritten: Mapping[int, Row]
    ) -> list[Row]:
        """Write the manifests of a snapshot, and return their rows of the manifest list.

        Args:
            rewritten: Rows of the manifests to write again without removed files, by their numbers.
        """


def raise_unreadable(source: Source, name: str, failure: str) -> None:
    """Raise the error of a part of the log: `UnreadablePart`, if another checkpoint might help."""
    is_checkpoint = any(part.version < 0 and part.name == name for part in source.parts)
    if is_checkpoint and is_damage(failure):
        raise UnreadablePart(name, failure)
    raise_failure(failure)


def check_live_files(*, vectors: bool, outside: bool) -> None:
    """Ensure that an Iceberg table can contain the live files."""
    if vectors:
        raise UnsupportedOperation(
            "rows of the Delta table are deleted by deletion vectors: rewrite its files "
            "(REORG TABLE … APPLY (PURGE))"
        )
    if outside:
        raise UnsupportedOperation(
            "the Delta table has data files outside of its directory, as shallow clones do, "
            "and its credentials do not cover them: make it an independent table (CREATE "
            "TABLE … AS SELECT)"
        )


def check_data_files(broken: int, first: str | None) -> None:
    """Ensure that no data file is missing or broken."""
    if broken:
        raise TableUnreadable(
            f"{broken} data files of the Delta table are missing or broken", detail=first
        )


def partitions_of(entries: EntryFormat, texts: Collection[str | None]) -> list[list[Any]] | None:
    """Return partition values, or `None` if some are unknown."""
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    try:
        return [list(entries.partition_values(text).values()) for text in known]
    except EXPECTED:
        return None


def candidates(
    entries: EntryFormat, manifests: Sequence[Row], partitions: Iterable[Sequence[Any]] | None
) -> dict[int, Row]:
    """Return the manifests that can contain files of some partitions, by their numbers."""
    return {
        number: row
        for number, row in enumerate(manifests)
        if partitions is None or may_contain(entries.partition, row.get("partitions"), partitions)
    }


def manifest_rows(written: Iterable[dict[str, Any]]) -> list[Row]:
    """Return rows of written manifests, or raise the error in one of them."""
    rows = list(written)
    for row in rows:
        raise_failure(row.pop("failure"))
    return list(rows)
