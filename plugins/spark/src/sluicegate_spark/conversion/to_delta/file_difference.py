"""Compares the files that a table needs with the files that it has, by path and deleted rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.formats import FileSet
from sluicegate_spark.conversion.to_delta.deletion_vectors import log_descriptors


def difference(files: FileSet, others: FileSet) -> FileSet:
    """Return files that the others don't contain with the same deleted rows."""
    known = _keys(others)
    if others.live is not None:
        known = known.filter(others.live)
    mask = pc.invert(pc.is_in(_keys(files), known))
    return files.where(mask)


def _keys(files: FileSet) -> pa.Array:
    texts = [
        pc.binary_join_element_wise(
            batch.column("path"),
            pc.struct_field(
                log_descriptors(batch.column("deletion_vector")), "pathOrInlineDv"
            ).fill_null(""),
            "\n",
        )
        for batch in files.table.to_batches()
    ]
    return pa.chunked_array(texts, pa.string()).combine_chunks()
