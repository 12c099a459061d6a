"""Whether data files say of themselves what the Iceberg table says of them."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import TableUnreadable, UnsupportedOperation


def check_footers(found: pa.Table, places: Mapping[str, int]) -> None:
    """Refuse files whose columns readers of Iceberg would take for others, or not find.

    Args:
        found: Of `footers.FOUND`.
        places: `Columns.places` of the table.

    Raises:
        TableUnreadable: A file is missing or broken.
        UnsupportedOperation: A file has field ids, and they are not the table's.
    """
    broken = found.filter(pc.is_valid(found.column("broken")))
    if broken.num_rows:
        raise TableUnreadable(
            f"{broken.num_rows} data files of the Delta table are missing or broken",
            detail=f"{broken.column('location')[0]}: {broken.column('broken')[0]}",
        )
    for text in pc.unique(found.column("places")).to_pylist():
        if not agrees(orjson.loads(text), places):
            raise UnsupportedOperation(
                "data files of the Delta table have field ids that are not the table's, or lack those "
                "of lists and maps, so readers of Iceberg would take columns for others or for empty: "
                "rewrite them (with delta.enableIcebergCompatV2, or without column mapping)"
            )


def agrees(file: Mapping[str, int | None], places: Mapping[str, int]) -> bool:
    """Whether a file's fields are found: all by their names, or all by their ids.

    Args:
        file: Field ids by path, `None` for a field without one.
        places: The same of the table.
    """
    if all(id_ is None for id_ in file.values()):
        return True  # by the name mapping
    names = {id_: path for path, id_ in places.items()}
    return all(_is_found(path, id_, places, names) for path, id_ in file.items())


def _is_found(path: str, id_: int | None, places: Mapping[str, int], names: Mapping[int, str]) -> bool:
    if id_ is None:
        return path not in places
    return places.get(path, id_) == id_ and names.get(id_, path) == path
