"""Checks that the manifests of a view can be generated, before a client relies on them."""

from __future__ import annotations

from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import check_sizes
from sluicegate.protocols.iceberg_rest.manifests.entries import Entries
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView
from sluicegate.tables.partitions import partition_texts


def check_manifests(view: TableView) -> None:
    """Check the partition values, and the sizes of deletion vectors. Blocks.

    Views whose files are in an index are not checked: their clients get the error from a manifest.

    Raises:
        TableUnreadable: The descriptor of a deletion vector is malformed.
        UnsupportedOperation: Manifests cannot express a part of the table.
    """
    if isinstance(view, IcebergView):
        Entries(view).check_partitions(partition_texts(view.files))
        check_sizes(view.files)
