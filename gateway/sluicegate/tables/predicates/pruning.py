"""Selects the files that can contain a row for which a predicate is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.predicates.conditions import Condition, condition
from sluicegate.tables.predicates.hints import Predicate
from sluicegate.tables.predicates.truth import Evidence, FileEvidence
from sluicegate.tables.snapshot import FileSet, TableMetadata

# One or two seconds of work. If a hint requires more, only terms within the limit are applied.
MAX_COMPARISONS = 100_000_000


def prune(files: FileSet, metadata: TableMetadata, predicate: Predicate) -> FileSet:
    """Drop the files that certainly have no row for which the predicate is true.

    The first predicate on a column parses it from the statistics, which takes about 5 µs per file. The
    result is cached with the files. Do not call it in the event loop.

    Returns:
        The same table with fewer live files.
    """
    conditions = affordable_conditions(files.table.num_rows, metadata, predicate)
    columns = {column for each in conditions for column in each.columns}
    masks = [_NO_FILES]
    for chunk, live in files.chunks():
        wanted = pa.repeat(True, len(chunk)) if live is None else live
        masks.append(still_wanted(wanted, conditions, FileEvidence(chunk, files.derived, columns)))
    return files.where(pa.concat_arrays(masks))


def affordable_conditions(files: int, metadata: TableMetadata, predicate: Predicate) -> list[Condition]:
    """The terms of a predicate that can be evaluated for so many files, the cheapest ones first."""
    conditions = list(_affordable(files, metadata, predicate))
    conditions.sort(key=lambda each: each.needs_statistics)
    return conditions


def _affordable(files: int, metadata: TableMetadata, predicate: Predicate) -> Iterator[Condition]:
    left = MAX_COMPARISONS
    for term in predicate.terms:
        resolved = condition(term, metadata)
        work = resolved.comparisons * files
        if work <= left:
            left -= work
            yield resolved


def still_wanted(
    live: pa.BooleanArray, conditions: Sequence[Condition], evidence: Evidence
) -> pa.BooleanArray:
    """Which of the live files can match. Evidence that can no longer change the result is not read."""
    for each in conditions:
        if not live.true_count:
            break
        live = pc.and_(live, each.ask(evidence).can_be_true)
    return live


_NO_FILES = pa.array([], pa.bool_())
