"""Old names of settings, which keep working and warn until the release after the next minor one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.model_keys import alternatives, is_mapping, is_model
from sluicegate.config.yaml import Document, Location


def without_removed_keys(
    model: type[BaseModel], document: Document
) -> tuple[Document, tuple[str, ...]]:
    """The document without removed keys, and one warning with its position for each of them."""
    found: dict[Location, str] = {}
    data = _kept(model, document.data, (), found)
    warnings = (
        document.problem(place, _removal_message(document, place, constant), key=True)
        for place, constant in found.items()
    )
    return replace(document, data=data), tuple(warnings)


def removed_keys_of(model: type[BaseModel]) -> dict[str, str]:
    """The removed keys of a model and its bases, with descriptions of the constants."""
    tables = [vars(each).get("removed_keys", {}) for each in reversed(model.__mro__)]
    return {key: constant for table in tables for key, constant in table.items()}


def _removal_message(document: Document, place: Location, constant: str) -> str:
    key = ".".join(document.as_written(tuple(map(str, (*document.root, *place)))))
    return f"'{key}' was removed and has no effect, because the value is always {constant}: remove it"


def _kept(annotation: Any, value: Any, place: Location, found: dict[Location, str]) -> Any:
    """The value without removed keys, which are added to `found`."""
    for kind in alternatives(annotation):
        if isinstance(value, dict):
            value = _kept_section(kind, value, place, found)
        elif isinstance(value, list) and get_origin(kind) in (list, tuple):
            item = get_args(kind)[0]
            value = [_kept(item, each, (*place, index), found) for index, each in enumerate(value)]
    return value


def _kept_section(
    kind: Any, section: dict[str, Any], place: Location, found: dict[Location, str]
) -> dict[str, Any]:
    if is_mapping(kind):
        inner = get_args(kind)[1]
        return {name: _kept(inner, each, (*place, name), found) for name, each in section.items()}
    if not is_model(kind):
        return section
    removed = removed_keys_of(kind)
    found |= {(*place, key): removed[key] for key in section if key in removed}
    types: Mapping[str, Any] = {
        info.alias or name: info.annotation for name, info in kind.model_fields.items()
    }
    return {
        key: _kept(types.get(key), value, (*place, key), found)
        for key, value in section.items()
        if key not in removed
    }


Key = tuple[str, ...]

# The old key with its sections, and the current one.
RENAMED: dict[Key, Key] = {
    ("server", "stop_timeout"): ("server", "shutdown_grace_period"),
    ("server", "max_body"): ("limits", "request_body", "sharing"),
    ("sharing", "url_lifetime"): ("sharing", "presigned_url_ttl"),
    ("delegation", "realm_limit"): ("delegation", "max_running_per_realm"),
    ("delegation", "max_body"): ("limits", "request_body", "delegation"),
    ("delegation", "lease", "lost_timeout"): ("delegation", "lease", "ttl"),
}


def with_current_keys(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with the current names of all keys, and one warning for each old one.

    Values keep their positions, so that later messages name the lines that the operator wrote.

    Raises:
        ConfigurationError: A key is set under both names.
    """
    data, marks = document.data, dict(document.marks)
    problems: list[str] = []
    warnings: list[str] = []
    for old, new in RENAMED.items():
        if not _has(data, old):
            continue
        both = _has(data, new)
        found = problems if both else warnings
        found.append(document.problem(old, _message(old, new, both=both), key=True))
        value, data = _removed(data, old)
        data = _added(data, new, value)
        moved = list(_below(marks, old))  # none, if a YAML merge sets the key
        for section in (new[:end] for end in range(1, len(new)) if moved):
            marks.setdefault(section, marks[old])
        for place in moved:
            marks[(*new, *place[len(old) :])] = marks.pop(place)
    if problems:
        raise ConfigurationError("\n".join(problems))
    return replace(document, data=data, marks=marks), tuple(warnings)


def _message(old: Key, new: Key, *, both: bool) -> str:
    if both:
        return f"'{'.'.join(old)}' is the old name of '{'.'.join(new)}', and both are set: remove it"
    change = "rename" if old[:-1] == new[:-1] else "move"
    return f"'{'.'.join(old)}' is deprecated: {change} it to '{'.'.join(new)}'"


def _has(data: Any, place: Key) -> bool:
    for part in place:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _removed(data: dict[str, Any], place: Key) -> tuple[Any, dict[str, Any]]:
    """The value of a key, and a copy of the sections that lead to it, without the key."""
    first, *rest = place
    if rest:
        value, section = _removed(data[first], tuple(rest))
        return value, {**data, first: section}
    return data[first], {key: value for key, value in data.items() if key != first}


def _added(data: Any, place: Key, value: Any) -> Any:
    """A copy of the sections that lead to a key, which has a value there.

    Something other than a section is left as it is: its own message follows.
    """
    if not place:
        return value
    if not isinstance(data, dict):
        return data
    first, *rest = place
    return {**data, first: _added(data.get(first, {}), tuple(rest), value)}


def _below(marks: dict[Key, Any], place: Key) -> Iterator[Key]:
    return (each for each in marks if each[: len(place)] == place)
