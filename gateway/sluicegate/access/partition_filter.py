"""Parses partition filters, such as `country = 'DE' AND region = recipient.region`.

Grammar: terms joined by `AND`. A term is `column = value`. A column is a name, or any text between
backticks. A value is a string in single quotes (in which `''` is one quote) or `recipient.NAME`, a
property of the recipient who sends the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
        """Parse a filter.

        Raises:
            ValueError: The text is not a filter. The message contains the error and its position.
        """
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
