"""Which files can have a row for which a predicate is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.predicates.conditions import Condition, condition
from sluicegate.tables.predicates.evidence import Evidence
from sluicegate.tables.predicates.hints import Predicate
from sluicegate.tables.snapshot import FileSet, TableMetadata

# A second or two of work; of a hint that wants more, the terms are obeyed that are not too much.
MAX_COMPARISONS = 100_000_000


def prune(files: FileSet, metadata: TableMetadata, predicate: Predicate) -> FileSet:
    """Drop the files that surely have no row for which the predicate is true.

    The first predicate on a column of a table reads it from the statistics, about 5 µs a file; what was
    read is kept with the files. Not for the event loop.

    Args:
        files: Live files.
        metadata: Of the same version.
        predicate: What the rows asked for fulfil.

    Returns:
        The same table with fewer files living.
    """
    conditions = list(_affordable(files.table.num_rows, metadata, predicate))
    conditions.sort(key=lambda each: each.needs_statistics)
    columns = {column for each in conditions for column in each.columns}
    masks = [_NO_FILES]
    for chunk, live in files.chunks():
        wanted = pa.repeat(True, len(chunk)) if live is None else live
        masks.append(_kept(wanted, conditions, Evidence(chunk, files.derived, columns)))
    return files.where(pa.concat_arrays(masks))


def _affordable(files: int, metadata: TableMetadata, predicate: Predicate) -> Iterator[Condition]:
    left = MAX_COMPARISONS
    for term in predicate.terms:
        resolved = condition(term, metadata)
        work = resolved.comparisons * files
        if work <= left:
            left -= work
            yield resolved


def _kept(
    live: pa.BooleanArray, conditions: Sequence[Condition], evidence: Evidence
) -> pa.BooleanArray:
    """Those of the living files that are kept; what does not matter any more is not read."""
    for each in conditions:
        if not live.true_count:
            break
        live = pc.and_(live, each.ask(evidence).can_be_true)
    return live


_NO_FILES = pa.array([], pa.bool_())
