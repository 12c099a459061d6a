"""Removes values from a configuration, so that the remaining ones can be checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sluicegate.config.source import Source
from sluicegate.config.yaml import Location

_Path = tuple[str, ...]


def without(source: Source, location: Location) -> Source:
    """Return the source without the value at a location. Later items of a list keep their positions."""
    *around, last = location
    data = _copy(source.document.data, tuple(around))
    section = data
    for part in around:
        section = section[part]
    del section[last]
    moved = _mover(location) if isinstance(last, int) else _keeper(location)
    marks = {
        place: mark
        for each, mark in source.document.marks.items()
        if (place := moved(each)) is not None
    }
    references = {}
    for each, reference in source.references.items():
        place = moved(tuple(map(str, each)))
        if place is not None:
            kinds = (type(part) for part in each)
            typed = (
                int(part) if kind is int else part for part, kind in zip(place, kinds, strict=True)
            )
            references[tuple(typed)] = reference
    document = replace(source.document, data=data, marks=marks)
    return replace(source, document=document, references=references)


def with_value(source: Source, location: Location, value: Any) -> Source:
    """Return the source with another value at a location that exists."""
    *around, last = location
    data = _copy(source.document.data, tuple(around))
    section = data
    for part in around:
        section = section[part]
    section[last] = value
    return replace(source, document=replace(source.document, data=data))


def contains(source: Source, location: Location) -> bool:
    """Whether the source has a value at a location."""
    value = source.document.data
    for part in location:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _copy(data: Any, path: tuple[str | int, ...]) -> Any:
    """Copy the containers along a path."""
    copied: Any = dict(data) if isinstance(data, dict) else list(data)
    if path:
        copied[path[0]] = _copy(data[path[0]], path[1:])
    return copied


def _keeper(location: Location) -> Callable[[_Path], _Path | None]:
    gone = tuple(map(str, location))
    return lambda place: None if place[: len(gone)] == gone else place


def _mover(location: Location) -> Callable[[_Path], _Path | None]:
    """Positions after an item of a list was removed; `None` for those of the item."""
    *around, index = location
    start = tuple(map(str, around))
    depth = len(start)

    def moved(place: _Path) -> _Path | None:
        if place[:depth] != start or len(place) == depth:
            return place
        number = int(place[depth])
        if number == index:
            return None
        return (*start, str(number - (number > int(index))), *place[depth + 1 :])

    return moved
