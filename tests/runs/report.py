"""Sums of a run by area, and what is dearest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from runs.budgets import BUDGETS
from runs.records import Kind, Record

_SHOWN_IN_A_LINE = 5
_DEAREST = 20
_COUNTED: set[Kind] = {"test", "collection", "process"}
"""What together is all that was used: the time of a fixture is a part of its test's."""
_IN_AREAS: tuple[Kind, ...] = ("fixture", "process")


@dataclass
class Sum:
    """Records of one name or area, added up."""

    count: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def add(self, record: Record) -> None:
        """Add a record."""
        self.count += 1
        self.seconds += record.seconds
        self.cpu += record.cpu


def closing_line(environment: str, records: Sequence[Record]) -> str:
    """One line for the end of a run: CPU time of all tests, its budget, and the dearest areas."""
    areas = _sums(records, _COUNTED, lambda record: record.area)
    dearest = ", ".join(f"{name} {found.cpu:.0f}" for name, found in _by_cost(areas)[:_SHOWN_IN_A_LINE])
    total = sum(found.cpu for found in areas.values())
    budget = BUDGETS.get(environment)
    limit = "" if budget is None else f" of a budget of {budget}"
    excess = "" if budget is None or total <= budget else ", which is too much: see CONTRIBUTING.md"
    return (
        f"CPU seconds: {total:.0f}{limit}{excess} (dearest areas: {dearest}; more: `tox -e durations`)"
    )


def report(environment: str, records: Sequence[Record]) -> Iterator[str]:
    """The tables of one environment: its areas, and the dearest tests, fixtures and processes."""
    yield f"\n# {environment}"
    yield from _table("area", _by_cost(_sums(records, _COUNTED, lambda record: record.area)))
    tests = _sums(records, {"test", "process"}, lambda record: record.test)
    yield from _table("test, with its processes", _by_cost(tests)[:_DEAREST])
    for kind in _IN_AREAS:
        names = _sums(records, {kind}, lambda record: f"{record.area}: {record.name}")
        yield from _table(f"area and {kind}", _by_cost(names)[:_DEAREST])


def _table(title: str, rows: Iterable[tuple[str, Sum]]) -> Iterator[str]:
    yield f"\n{'CPU s':>8} {'seconds':>8} {'number':>7}  {title}"
    for name, found in rows:
        yield f"{found.cpu:8.1f} {found.seconds:8.1f} {found.count:7}  {name}"


def _sums(records: Iterable[Record], kinds: set[Kind], key: Callable[[Record], str]) -> dict[str, Sum]:
    sums: dict[str, Sum] = defaultdict(Sum)
    for record in records:
        if record.kind in kinds:
            sums[key(record)].add(record)
    return sums


def _by_cost(sums: dict[str, Sum]) -> list[tuple[str, Sum]]:
    return sorted(sums.items(), key=lambda item: -item[1].cpu)
