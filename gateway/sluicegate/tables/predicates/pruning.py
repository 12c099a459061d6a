"""Which files can have a row for which a predicate is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

import pyarrow as pa

from sluicegate.tables.predicates.conditions import Condition, condition
from sluicegate.tables.predicates.evidence import Evidence
from sluicegate.tables.predicates.expressions import TRUE
from sluicegate.tables.predicates.hints import Predicate
from sluicegate.tables.predicates.truth import Truth
from sluicegate.tables.snapshot import FileSet, TableMetadata

# About a second of work; a hint that wants more is obeyed as far as that goes.
MAX_COMPARISONS = 50_000_000


def prune(files: FileSet, metadata: TableMetadata, predicate: Predicate) -> FileSet:
    """Drop the files that surely have no row for which the predicate is true.

    The first predicate on a column of a table reads it from the statistics, about 3 µs a file; what was
    read is kept with the files. Not for the event loop.

    Args:
        files: Live files.
        metadata: Of the same version.
        predicate: What the rows asked for fulfil.

    Returns:
        The same table with fewer files living.
    """
    conditions = list(_affordable(files.table.num_rows, metadata, predicate))
    columns = {column for each in conditions for column in each.columns}
    chunks = files.table.select(["partition_values", "stats"]).to_batches()
    masks = [
        _mask(conditions, chunk.num_rows, Evidence(chunk, files.derived, columns)) for chunk in chunks
    ]
    return files.where(pa.concat_arrays([*masks, _NO_FILES]))


def _affordable(files: int, metadata: TableMetadata, predicate: Predicate) -> Iterator[Condition]:
    left = MAX_COMPARISONS
    for term in predicate.terms:
        resolved = condition(term, metadata)
        left -= resolved.comparisons * files
        if left < 0:
            return
        yield resolved


def _mask(conditions: Sequence[Condition], files: int, evidence: Evidence) -> pa.BooleanArray:
    truth = reduce(and_, (each.ask(evidence) for each in conditions), Truth.of(TRUE))
    kept = truth.can_be_true
    return pa.repeat(kept, files) if isinstance(kept, pa.BooleanScalar) else kept


_NO_FILES = pa.array([], pa.bool_())
