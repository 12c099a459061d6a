"""Checks that the field ids in data files agree with the Iceberg table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import TableUnreadable, UnsupportedOperation


def check_footers(found: pa.Table, field_ids: Mapping[str, int]) -> None:
    """Reject files in which Iceberg readers would confuse columns or not find them.

    Args:
        found: Footers, with the columns of `footers.FOUND`.
        field_ids: `Columns.field_ids` of the table.

    Raises:
        TableUnreadable: A file is missing or broken.
        UnsupportedOperation: A file contains field ids that are not the table's.
    """
    broken = found.filter(pc.is_valid(found.column("broken")))
    if broken.num_rows:
        raise TableUnreadable(
            f"{broken.num_rows} data files of the Delta table are missing or broken",
            detail=f"{broken.column('location')[0]}: {broken.column('broken')[0]}",
        )
    for text in pc.unique(found.column("field_ids")).to_pylist():
        if not ids_match(orjson.loads(text), field_ids):
            raise UnsupportedOperation(
                "the data files of the Delta table contain field ids that differ from the table's, "
                "or lack field ids of lists and maps, so readers of Iceberg would confuse "
                "columns or read them as empty: rewrite them (with delta.enableIcebergCompatV2, "
                "or without column mapping)"
            )


def dropped_fields(found: pa.Table, field_ids: Mapping[str, int]) -> set[str]:
    """Return paths of fields that are in data files without field ids, but not in the table.

    Args:
        found: Footers, with the columns of `footers.FOUND`.
        field_ids: `Columns.field_ids` of the table.

    Raises:
        UnsupportedOperation: A field differs from a column only in case.
    """
    files = (orjson.loads(text) for text in pc.unique(found.column("field_ids")).to_pylist())
    unnumbered = (file for file in files if all(id_ is None for id_ in file.values()))
    dropped = set(chain.from_iterable(unnumbered)) - field_ids.keys()
    in_lower_case = {path.lower() for path in field_ids}
    other_case = sorted(path for path in dropped if path.lower() in in_lower_case)
    if other_case:
        name = other_case[0].rpartition("\0")[2]
        raise UnsupportedOperation(
            f"the data files of the Delta table contain the column '{name}' in a different case "
            "than the table, so readers of Iceberg would read it as null: rewrite them"
        )
    return dropped


def ids_match(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> bool:
    """Return whether all fields of a file are found by name, or all by id.

    Args:
        file: Field ids by path, `None` for a field without an id.
        field_ids: The same mapping for the table.
    """
    if all(id_ is None for id_ in file.values()):
        return True  # by the name mapping
    names = {id_: path for path, id_ in field_ids.items()}
    return all(_is_found(path, id_, field_ids, names) for path, id_ in file.items())


def _is_found(
    path: str, id_: int | None, field_ids: Mapping[str, int], names: Mapping[int, str]
) -> bool:
    if id_ is None:
        return path not in field_ids
    return field_ids.get(path, id_) == id_ and names.get(id_, path) == path
