"""Old names of settings, which keep working and warn until the release after the next minor one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.yaml import Document

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
