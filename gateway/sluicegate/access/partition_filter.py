"""Parses partition filters, such as `country = 'DE' AND region = recipient.region`.

Grammar: terms joined by `AND`. A term is `column = value`. A column is a name, or any text between
backticks. A value is a string in single quotes (in which `''` is one quote) or `recipient.NAME`, a
property of the recipient who sends the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sluicegate.api import CatalogTable, SharedTable, UnsupportedOperation
from sluicegate.audit.trail import PARTITION_FILTER

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<quoted>`[^`]+`)
      | (?P<property>recipient\.[A-Za-z0-9_-]+)
      | (?P<word>[^\W\d]\w*)
      | (?P<equals>=)
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


BY_RECIPIENT = ".by-recipient"
"""End of the location of a table that contains rows of several recipients.

Such a table is shared only with a partition filter, also if nothing but its location is known.
"""
RECIPIENT_FILTER = "sluicegate.recipientFilter"
"""Property of such a table with the filter that the share's filter must contain."""


@dataclass(frozen=True, slots=True)
class RecipientProperty:
    """A property of the recipient who sends the request."""

    name: str


@dataclass(frozen=True, slots=True)
class PartitionTerm:
    """A column and its required value."""

    column: str
    value: str | RecipientProperty


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """Terms that must all hold."""

    terms: tuple[PartitionTerm, ...]

    @classmethod
    def parse(cls, text: str) -> PartitionFilter:
        """Parse a filter."""
        tokens = _tokens(text)
        terms = [_term(tokens)]
        while (found := tokens.pop()).kind != "end":
            if found.kind != "word" or found.text.upper() != "AND":
                raise found.unexpected("AND")
            terms.append(_term(tokens))
        columns = [term.column for term in terms]
        repeated = next((name for name in columns if columns.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(f"the partition filter names the column '{repeated}' twice")
        return cls(tuple(terms))


def check_shared_in_part(table: SharedTable, source: CatalogTable) -> None:
    """Ensure that a table in a directory `….by-recipient` is shared with a partition filter."""
    if table.partition_filter is None and source.location.rstrip("/").endswith(BY_RECIPIENT):
        raise filter_required(table, f"the directory {source.location} needs a partition_filter")


def filter_required(table: SharedTable, detail: str) -> UnsupportedOperation:
    """The error if a table with rows of several recipients is shared without its filter."""
    return UnsupportedOperation(
        f"{table.full_name} contains rows of several recipients, and is shared without the partition "
        "filter that it requires: ask the provider to correct the share's partition filter",
        detail=detail,
    ).decided_by(PARTITION_FILTER)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    def unexpected(self, expected: str) -> ValueError:
        found = f"'{self.text}'" if self.text else "the end"
        return ValueError(f"expected {expected} at character {self.at}, found {found}")


def _tokens(text: str) -> list[_Token]:
    """The tokens in reverse order, so that the next one can be popped."""
    found: list[_Token] = []
    position = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            rest = text[position:].lstrip()
            raise _Token("", rest[:1], len(text) - len(rest) + 1).unexpected("a column or a value")
        kind = match.lastgroup
        found.append(_Token(kind, match[kind], match.start(kind) + 1))
        position = match.end()
    return found[::-1]


def _term(tokens: list[_Token]) -> PartitionTerm:
    column = tokens.pop()
    if column.kind not in ("word", "quoted"):
        raise column.unexpected("a column")
    equals = tokens.pop()
    if equals.kind != "equals":
        raise equals.unexpected("=")
    return PartitionTerm(column.text.strip("`"), _value(tokens.pop()))


def _value(token: _Token) -> str | RecipientProperty:
    if token.kind == "text":
        return token.text[1:-1].replace("''", "'")
    if token.kind == "property":
        return RecipientProperty(token.text.partition(".")[2])
    raise token.unexpected("a string in single quotes or recipient.PROPERTY")
