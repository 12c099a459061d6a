"""Recipes from which large vectors are created when they are fetched. Their sources never change."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import orjson

from sluicegate.api import TableUnreadable


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector is a blob of a Puffin file.

    Attributes:
        offset: Offset of the blob, in bytes.
        size: Size of the blob, in bytes.
    """

    location: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """The vector combines all position delete files of a snapshot for one data file.

    There can be hundreds of such files, and a link is short, so the recipe names the snapshot.
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
    """Return a recipe as text."""
    return orjson.dumps([_NAMES[type(recipe)], *astuple(recipe)]).decode()


def parse_recipe(text: str) -> Recipe:
    """Parse the output of `recipe_text`."""
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
    return TableUnreadable(
        "this release of the gateway cannot create the file of this link: query the table again",
        detail=text,
    )
