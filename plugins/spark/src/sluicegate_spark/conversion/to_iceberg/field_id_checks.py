"""Checks that the field ids in data files agree with the Iceberg table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluicegate.api import UnsupportedOperation


def check_field_ids(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> None:
    """Reject a file in which Iceberg readers would confuse columns or not find them."""
    if not ids_match(file, field_ids):
        raise UnsupportedOperation(
            "the data files of the Delta table contain field ids that differ from the table's, "
            "or lack field ids of lists and maps, so readers of Iceberg would confuse "
            "columns or read them as empty: rewrite them (with delta.enableIcebergCompatV2, "
            "or without column mapping)"
        )


def fields_without_columns(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> set[str]:
    """Return paths of fields that are in a data file without field ids, but not in the table."""
    if any(id_ is not None for id_ in file.values()):
        return set()
    return file.keys() - field_ids.keys()


def check_case(dropped: Iterable[str], field_ids: Mapping[str, int]) -> None:
    """Reject fields that differ from a column only in case."""
    in_lower_case = {path.lower() for path in field_ids}
    other_case = sorted(path for path in dropped if path.lower() in in_lower_case)
    if other_case:
        name = other_case[0].rpartition("\0")[2]
        raise UnsupportedOperation(
            f"the data files of the Delta table contain the column '{name}' in a different case "
            "than the table, so readers of Iceberg would read it as null: rewrite them"
        )


def ids_match(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> bool:
    """Return whether all fields of a file are found by name, or all by id."""
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
