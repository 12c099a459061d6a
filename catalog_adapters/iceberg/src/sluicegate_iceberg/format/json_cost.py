"""Estimates the memory that JSON needs before it is parsed."""

from __future__ import annotations

from sluicegate.api import Budget, TableTooLarge

# Longer texts are rejected, because parsing blocks everything else. Metadata of tables with very many
# columns and snapshots has tens of megabytes.
LONGEST_JSON = 256 << 20
_VALUE = 72  # bytes of a small value and its slot in a list; most need less


def take_json(text: bytes | bytearray, what: str, budget: Budget) -> None:
    """Count the memory that a parsed text will need, because some parsers have no limit.

    Every value is next to one of these characters. Some occur in strings and are also counted, so the
    estimate is too high rather than too low.
    """
    check_length(len(text), what)
    values = sum(map(text.count, (b",", b":", b"[", b"{")))
    budget.take(what, bytes=len(text) + _VALUE * values)


def check_length(length: int, what: str) -> None:
    """Ensure that a text doesn't exceed the maximum length."""
    if length > LONGEST_JSON:
        raise TableTooLarge(f"{what} of the table has more than {LONGEST_JSON} bytes of JSON")
