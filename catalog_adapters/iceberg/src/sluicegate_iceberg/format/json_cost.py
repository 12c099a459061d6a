"""What JSON takes in memory, counted before it is parsed."""

from __future__ import annotations

from sluicegate.api import Budget, TableTooLarge

# Longer texts are refused: while one is parsed, nothing else runs. Metadata of tables with very many
# columns and snapshots has some tens of megabytes.
LONGEST_JSON = 256 << 20
_VALUE = 72  # bytes of a small value with its place in a list; most take less


def take_json(text: bytes | bytearray, what: str, budget: Budget) -> None:
    """Count what a text will be when it is parsed: there are parsers that know no bound.

    Every value stands before or behind one of these characters. Some that stand in strings are counted
    too, which makes the estimate larger than it need be.

    Raises:
        TableTooLarge: It is more than may be.
    """
    check_length(len(text), what)
    values = sum(map(text.count, (b",", b":", b"[", b"{")))
    budget.take(what, bytes=len(text) + _VALUE * values)


def check_length(length: int, what: str) -> None:
    """Make sure that a text is no longer than may be.

    Raises:
        TableTooLarge: It is.
    """
    if length > LONGEST_JSON:
        raise TableTooLarge(f"{what} of the table has more than {LONGEST_JSON} bytes of JSON")
