"""The tables that the suite writes itself, by name."""

from __future__ import annotations

from support.tables.reader_tables import (
    of_faults,
    of_histories,
    of_logs,
    of_partitions,
    of_types,
    of_vectors,
)
from support.tables.reader_tables.served import ReaderTable

OWN: dict[str, ReaderTable] = {
    **of_types.TABLES,
    **of_partitions.TABLES,
    **of_vectors.TABLES,
    **of_logs.TABLES,
    **of_histories.TABLES,
    **of_faults.TABLES,
}
