"""The data files of each manifest. All files of one manifest have the same partition spec."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.iceberg_rest.manifests.entries import rows_by_path
from sluicegate.protocols.iceberg_rest.planning.own_partitions import OwnPartitions
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.protocols.iceberg_rest.view import IcebergView


@dataclass(frozen=True, slots=True)
class Part:
    """The data files of a manifest.

    Attributes:
        spec: The id of their spec.
        files: Rows of `rows_by_path`.
    """

    spec: int
    files: pa.Table


def parts_of(view: IcebergView, most: int) -> list[Part]:
    """The parts of a view, in an order that depends on nothing else. Blocks.

    Args:
        view: The view.
        most: The most files of a part.
    """
    rows, own = rows_by_path(view.files), view.shape.own
    if own is None:
        return _cut(spec_without((), view.shape), rows, most)
    partitions = OwnPartitions(own)
    specs = [partitions.of(text).spec.id for text in texts(rows.column("partition_values"))]
    # The sort is stable, and takes no more time if each file has its own spec.
    ordered, start, parts = rows.take(pc.array_sort_indices(pa.array(specs, pa.int64()))), 0, []
    for spec, number in sorted(Counter(specs).items()):
        parts += _cut(spec, ordered.slice(start, number), most)
        start += number
    return parts


def _cut(spec: int, rows: pa.Table, most: int) -> list[Part]:
    return [Part(spec, rows.slice(start, most)) for start in range(0, len(rows), most)]
