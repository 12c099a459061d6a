"""Compares a shares file with the database, and formats the difference as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate._util.printable import printable
from sluicegate._util.units import format_duration
from sluicegate.access.shares_file.entries import Entries, Entry
from sluicegate.api.assets.models import ASSET_KINDS

# The order in which changes are shown and made: an entry comes before the entries that refer to it.
ORDER = ("share", "schema", "table", *ASSET_KINDS, "recipient", "grant")


@dataclass(frozen=True, slots=True)
class Change:
    """An entry that is added (`before` is `None`), removed (`after` is `None`) or changed."""

    before: Entry | None
    after: Entry | None

    @property
    def entry(self) -> Entry:
        """The entry after the change, or before it if it is removed."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 # a change has at least one side
        return found


@dataclass(frozen=True, slots=True)
class Difference:
    """Changes in the order of `ORDER`, and the shares and recipients that the file does not name."""

    changes: tuple[Change, ...]
    untouched: tuple[Entry, ...]
    ending: tuple[str, ...] = ()

    @property
    def removals(self) -> int:
        """The number of entries that are removed."""
        return sum(change.after is None for change in self.changes)


def compare(stored: Entries, declared: Entries, *, prune: bool) -> Difference:
    """The difference between the database and a shares file.

    Shares and recipients in the file are replaced by their definitions there. Others do not change, or
    are removed with `prune`.
    """
    changes: list[Change] = []
    untouched: list[Entry] = []
    for key, entry in declared.items():
        before = stored.get(key)
        if before is None or _fields(before) != _fields(entry):
            changes.append(Change(before, entry))
    for key, entry in stored.items():
        if key in declared:
            continue
        if prune or _root(entry) in declared:
            changes.append(Change(entry, None))
        elif len(entry.names) == 1:
            untouched.append(entry)
    changes.sort(key=lambda change: (ORDER.index(change.entry.kind), change.entry.key))
    untouched.sort(key=lambda entry: entry.key)
    return Difference(tuple(changes), tuple(untouched))


def describe(difference: Difference) -> Iterator[dict[str, Any]]:
    """The changes as values for JSON: the entry, and the fields that matter before and after."""
    for change in difference.changes:
        before, after = change.before, change.after
        yield {
            "action": "add" if before is None else "remove" if after is None else "change",
            "kind": change.entry.kind,
            "name": list(change.entry.names),
            "fields": {} if after is None else dict(_changed_fields(before, after)),
        }


def render(difference: Difference) -> Iterator[str]:
    """The difference as lines: `+` added, `~` changed, `-` removed, with the fields that matter.

    Invisible characters are escaped, so that no text can hide a change on a terminal.
    """
    return (printable(line) for line in _lines(difference))


def _lines(difference: Difference) -> Iterator[str]:
    for change in difference.changes:
        before, after = change.before, change.after
        sign = "+" if before is None else "-" if after is None else "~"
        yield f"{sign} {_title(change.entry)}"
        if after is not None:
            yield from _field_lines(before, after)
    for ending in difference.ending:
        yield f"~ {ending}"
    for entry in difference.untouched:
        yield f"  {_title(entry)} is not in the file and stays unchanged (--prune removes it)"
    if not difference.changes:
        yield "nothing to change"


def _root(entry: Entry) -> tuple[str, tuple[str, ...]]:
    kind = "recipient" if entry.kind in ("recipient", "grant") else "share"
    return kind, entry.key[1][:1]


def _fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry that can change. Names in a grant have the case of its share."""
    name = {} if entry.kind == "grant" else {"name": entry.names[-1]}
    return name | dict(entry.values)


def _title(entry: Entry) -> str:
    if entry.kind == "grant":
        return f"grant {entry.names[1]} to {entry.names[0]}"
    return f"{entry.kind} {'.'.join(entry.names)}"


def _field_lines(before: Entry | None, after: Entry) -> Iterator[str]:
    for name, change in _changed_fields(before, after):
        shown = shown_value(name, change["after"])
        old = "" if before is None else f"{shown_value(name, change['before'])} → "
        yield f"    {name}: {old}{shown}"


def _changed_fields(before: Entry | None, after: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of an added entry that are set, or those of a changed one that differ."""
    if before is None:
        for name, value in _as_written(after.kind, after.values):
            if value:
                yield name, {"before": None, "after": value}
        return
    old, new = (dict(_as_written(entry.kind, _fields(entry))) for entry in (before, after))
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield name, {"before": old.get(name), "after": new.get(name)}


def _as_written(kind: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields by the keys of a shares file."""
    for name, value in values.items():
        if name == "source":
            yield from ((f"from.{key}", each) for key, each in (value or {}).items())
        elif name == "limits":
            yield from ((f"limits.{key}", each) for key, each in (value or {}).items())
        else:
            yield kind if name == "identifier" else name, value


def shown_value(name: str, value: Any) -> str:
    """The value of a field as text."""
    if value is None:
        return "none"
    if name == "token_lifetime":
        return format_duration(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
