"""What large vectors are made from when they are fetched; none of it ever changes."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import orjson

from sluicegate.api import TableUnreadable


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector is a blob of a Puffin file.

    Attributes:
        location: Of the file.
        offset: Of the blob, in bytes.
        size: Of the blob, in bytes.
    """

    location: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """The vector says what all files of positions of a snapshot say of a data file.

    Hundreds of files may say something, and a link is short: so it names the snapshot.

    Attributes:
        manifest_list: Location of the snapshot's manifest list.
        data_file: Location of the data file, as manifests spell it.
        sequence_number: Of the data file: deletes of this or a larger one apply.
    """

    manifest_list: str
    data_file: str
    sequence_number: int


Recipe = StoredVector | PositionDeletes

_KINDS: dict[str, type[StoredVector] | type[PositionDeletes]] = {
    "vector": StoredVector,
    "positions": PositionDeletes,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def recipe_text(recipe: Recipe) -> str:
    """A recipe as text."""
    return orjson.dumps([_NAMES[type(recipe)], *astuple(recipe)]).decode()


def parse_recipe(text: str) -> Recipe:
    """Read what `recipe_text` wrote.

    Raises:
        TableUnreadable: Another release wrote it.
    """
    name, *values = _values(text)
    try:
        return _KINDS[name](*values)
    except (KeyError, TypeError) as error:
        raise _unknown(text) from error


def _values(text: str) -> list[Any]:
    try:
        values = orjson.loads(text)
    except ValueError as error:
        raise _unknown(text) from error
    if not isinstance(values, list) or not values:
        raise _unknown(text)
    return values


def _unknown(text: str) -> TableUnreadable:
    return TableUnreadable("the link's file cannot be made by this release of the gateway", detail=text)
