"""Parses expressions that replace the values of a column, into trees.

All functions are deterministic, and read nothing but their arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 4096
MAX_DEPTH: Final = 32
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<quoted>'(?:[^'\\]|''|\\[\\'])*')
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?!\w))
      | (?P<word>[^\W\d]\w*)
      | (?P<symbol>\|\||[(),.+*-])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)
_ESCAPED: Final = re.compile(r"''|\\(.)")
# Function: the least and the largest number of arguments.
FUNCTIONS: Final = {
    "ABS": (1, 1),
    "COALESCE": (1, 16),
    "CONCAT": (1, 16),
    "DAY": (1, 1),
    "FLOOR": (1, 1),
    "LAST_DAY": (1, 1),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "MONTH": (1, 1),
    "NULLIF": (2, 2),
    "REPLACE": (3, 3),
    "ROUND": (1, 2),
    "SUBSTRING": (2, 3),
    "TRIM": (1, 1),
    "TRUNC": (2, 2),
    "UPPER": (1, 1),
    "YEAR": (1, 1),
}
TYPES: Final = ("BOOLEAN", "INT", "BIGINT", "DOUBLE", "STRING", "DATE", "TIMESTAMP")
_CONSTANTS: Final = ("NULL", "TRUE", "FALSE")
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of one."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant."""

    text: str
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of `FUNCTIONS`."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to one of `TYPES`."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An arithmetic operation, or a concatenation of texts."""

    operator: str
    left: Node
    right: Node


Node = Column | Constant | Call | Cast | Operation


def parse_expression(text: str) -> Node:
    """Parse an expression."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    return _Parser(text).parse()


def columns_in(node: Node) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all columns of an expression."""
    match node:
        case Column(path):
            yield path
        case Call(_, arguments):
            for each in arguments:
                yield from columns_in(each)
        case Cast(operand, _):
            yield from columns_in(operand)
        case Operation(_, left, right):
            yield from columns_in(left)
            yield from columns_in(right)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Parser:
    """A recursive descent parser with one method for each level of precedence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._sum()
        if self._peek().kind != "end":
            raise self._wrong()
        return node

    def _split(self) -> Iterator[_Token]:
        position = 0
        while True:
            match = _TOKEN.match(self._text, position)
            if match is None or match.lastgroup is None:
                rest = self._text[position:].lstrip()
                raise self._wrong(len(self._text) - len(rest))
            yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
            if match.lastgroup == "end":
                return
            position = match.end()

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"has more than {MAX_DEPTH} levels")
        node = self._product()
        while (operator := self._accept("+", "-", "||")) is not None:
            node = Operation(operator, node, self._product())
        self._depth -= 1
        return node

    def _product(self) -> Node:
        node = self._primary()
        while self._accept("*") is not None:
            node = Operation("*", node, self._primary())
        return node

    def _primary(self) -> Node:
        token = self._take()
        match token.kind:
            case "quoted":
                text = _ESCAPED.sub(lambda found: found[1] or "'", token.text[1:-1])
                return Constant(text, is_text=True)
            case "number":
                return Constant(token.text)
            case "name":
                return self._column(token.text[1:-1].replace("``", "`"))
            case "word":
                return self._word(token)
            case "symbol" if token.text == "(":
                inner = self._sum()
                self._expect(")")
                return inner
            case "symbol" if token.text == "-" and self._peek().kind == "number":
                return Constant(f"-{self._take().text}")
        self._next -= 1
        raise self._wrong()

    def _word(self, token: _Token) -> Node:
        upper = token.text.upper()
        if self._accept("(") is not None:
            if upper == "CAST":
                return self._cast()
            if upper not in FUNCTIONS:
                raise self._wrong(token.start)
            return self._call(upper, token.start)
        if upper in _CONSTANTS:
            return Constant(upper)
        return self._column(token.text)

    def _call(self, function: str, start: int) -> Node:
        arguments = [self._sum()]
        while self._accept(",") is not None:
            arguments.append(self._sum())
        self._expect(")")
        least, most = FUNCTIONS[function]
        if not least <= len(arguments) <= most:
            raise self._wrong(start)
        return Call(function, tuple(arguments))

    def _cast(self) -> Node:
        operand = self._sum()
        word = self._take()
        kind = self._take()
        if word.text.upper() != "AS" or kind.text.upper() not in TYPES:
            raise self._wrong(word.start)
        self._expect(")")
        return Cast(operand, kind.text.upper())

    def _column(self, first: str) -> Node:
        path = [first]
        while self._accept(".") is not None:
            token = self._take()
            if token.kind not in ("word", "name"):
                raise self._wrong(token.start)
            quoted = token.kind == "name"
            path.append(token.text[1:-1].replace("``", "`") if quoted else token.text)
        return Column(tuple(path))

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek()
        if token.kind == "end":
            raise self._wrong()
        self._next += 1
        return token

    def _accept(self, *symbols: str) -> str | None:
        token = self._peek()
        if token.kind != "symbol" or token.text not in symbols:
            return None
        self._next += 1
        return token.text

    def _expect(self, symbol: str) -> None:
        if self._accept(symbol) is None:
            raise self._wrong()

    def _wrong(self, start: int | None = None) -> ValueError:
        at = self._peek().start if start is None else start
        rest = self._text[at : at + _SHOWN]
        place = f"from character {at + 1} on, {rest!r}" if rest else "at its end"
        return ValueError(
            f"not understood {place}: an expression consists of columns, constants, +, -, *, ||, "
            f"CAST(… AS type) with the types {', '.join(TYPES)}, and the functions "
            f"{', '.join(sorted(FUNCTIONS))}"
        )
