"""Validates the gateway's own sections, and returns settings without the invalid values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.config.deprecated_keys import RENAMED, with_current_keys, without_removed_keys
from sluicegate.config.load import with_plugin_sections
from sluicegate.config.references import collect_references
from sluicegate.config.secrets import exposed_secrets
from sluicegate.config.source import Reference, Source
from sluicegate.config.yaml import Document, Location, explain, parse_document, read_text

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


# Stands for a value that cannot be resolved. Long enough for a key; problems with it are not reported.
_PLACEHOLDER = "0123456789abcdef" * 4
_MOST_ROUNDS = 50

UNKNOWN = "\0"
"""The type of sections of plugins that are not valid, in the settings that remain."""

PLUGIN_LISTS: tuple[Location, ...] = (
    ("plugins",),
    ("storage",),
    ("authentication", "authenticators"),
    ("policies",),
    ("delegation", "executors"),
)
"""The lists of sections of plugins."""


@dataclass
class CheckedSettings:
    """The valid part of a file, and the problems of the rest.

    Attributes:
        settings: `None` if nothing of the file can be used.
    """

    settings: Settings | None = None
    warnings: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    ignored: tuple[str, ...] = ()

    def add(self, lines: list[str]) -> None:
        """Add lines that are not about placeholders, and not known already."""
        for line in lines:
            if line not in self.problems and not line.startswith(self.ignored or ("\0",)):
                self.problems.append(line)


def check_settings(path: Path) -> CheckedSettings:
    """Read and validate a file."""
    checked = CheckedSettings()
    try:
        document = parse_document(read_text(path), path, duplicates=checked.problems)
    except ConfigurationError as error:
        checked.problems.append(error.message)
        return checked
    document, removed = without_removed_keys(Settings, _current(document, checked))
    checked.warnings += removed
    source = _with_placeholders(document, checked)
    _validate(source, checked)
    return checked


def _current(document: Document, checked: CheckedSettings) -> Document:
    if not isinstance(document.data, dict):
        return document
    document = with_plugin_sections(document, checked.problems)
    try:
        document, checked.warnings = with_current_keys(document)
    except ConfigurationError as error:
        checked.add(error.message.splitlines())
        source = Source(document)
        for old in RENAMED:
            if contains(source, old):
                source = without(source, old)
        return source.document
    return document


def _with_placeholders(document: Document, checked: CheckedSettings) -> Source:
    source, unresolved = collect_references(document)
    checked.add([document.problem(location, why) for location, why in unresolved.items()])
    if not unresolved:
        return source
    checked.ignored = tuple(document.problem(location, "") for location in unresolved)
    references = {**source.references}
    for location in unresolved:
        source = with_value(source, location, _PLACEHOLDER)
        references[location] = Reference("env", "")  # whose file is not checked
    return replace(source, references=references)


def _validate(source: Source, checked: CheckedSettings) -> None:
    removed: list[Location] = []
    for _ in range(_MOST_ROUNDS):
        try:
            settings = Settings.model_validate(source.document.data)
        except ValidationError as error:
            places = _places(source, error)
            # A section that lacks a value because the value was removed is not wrong by itself.
            about = partial(_is_news, source, tuple(removed))
            checked.add(explain(error, source.document, Settings, about=about).splitlines())
            if () in places:
                return
            # The last items of lists first, so that the others keep their numbers.
            for place in sorted(places, key=lambda each: tuple(map(_order, each)), reverse=True):
                if contains(source, place):
                    source = _removed(source, place, checked)
                    removed.append(place)
            continue
        checked.settings = settings.read_from(source)
        checked.add(exposed_secrets(settings, source))
        return


def _removed(source: Source, place: Location, checked: CheckedSettings) -> Source:
    """The source without a value. Sections of plugins are replaced, so that lists keep numbers."""
    if place[:-1] not in PLUGIN_LISTS:
        return without(source, place)
    checked.ignored += (source.document.problem(place, ""),)
    return with_value(source, place, {"type": UNKNOWN})


def _places(source: Source, error: ValidationError) -> set[Location]:
    """The values to remove: the invalid ones, or the sections that lack a key."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return {_existing(source, each["loc"]) for each in found}


def _existing(source: Source, location: Location) -> Location:
    """The value at a location, or the innermost section around it, without tags of unions."""
    place: Location = ()
    for part in location:
        if contains(source, (*place, part)):
            place = (*place, part)
    return place


def _is_news(source: Source, removed: tuple[Location, ...], location: Location) -> bool:
    place = _existing(source, location)
    return not any(each[: len(place)] == place for each in removed)


def _order(part: str | int) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (-1, part)
