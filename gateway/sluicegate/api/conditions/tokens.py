"""Splits SQL predicates into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>'(?:[^'\\]|''|\\[\\'])*')
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:E[+-]?[0-9]+)?(?P<suffix>BD|[LSYFD])?(?!\w))
      | (?P<word>[^\W\d]\w*)
      | (?P<symbol><=>|<=|>=|<>|!=|==|[=<>(),.+-])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPED = re.compile(r"''|\\(.)")


class NotUnderstood(ValueError):
    """A predicate uses SQL that is not supported.

    Args:
        what: The unsupported part, or the reason.
        start: The position of its first character, if known.
    """

    def __init__(self, what: str, start: int | None = None) -> None:
        super().__init__(what)
        self.start = start


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A word, a symbol, or a constant. Words and symbols are compared in upper case.

    Attributes:
        kind: `quoted`, `name`, `number`, `word`, `symbol` or `end`.
        text: The text without quotes and number suffixes.
        upper: The text of words and symbols in upper case.
        suffix: The suffix of a number that determines its type.
        start: The position of its first character.
    """

    kind: str
    text: str
    upper: str = ""
    suffix: str = ""
    start: int = 0


def tokens(text: str, *, escapes: bool) -> Iterator[SqlToken]:
    r"""Split SQL into tokens. The last one has the kind `end`.

    Args:
        text: The SQL.
        escapes: Whether `\\` and `\'` in a text are escapes, as in Spark's SQL. Otherwise texts with a
            backslash are rejected, because `'\'` is a complete text in standard SQL.

    Raises:
        NotUnderstood: A part of the SQL is not a token.
    """
    if not escapes and "\\" in text:
        raise NotUnderstood("backslash", text.index("\\"))
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            raise NotUnderstood(rest[:20], len(text) - len(rest))
        yield _token(match, match.end() - len(match[0].lstrip()))
        if match["end"] is not None:
            return
        position = match.end()


def _token(match: re.Match[str], start: int) -> SqlToken:
    if (quoted := match["quoted"]) is not None:
        text = _ESCAPED.sub(lambda found: found[1] or "'", quoted[1:-1])
        return SqlToken("quoted", text, start=start)
    if (name := match["name"]) is not None:
        return SqlToken("name", name[1:-1].replace("``", "`"), start=start)
    if (number := match["number"]) is not None:
        suffix = match["suffix"] or ""
        return SqlToken("number", number.removesuffix(suffix), suffix=suffix.upper(), start=start)
    if (word := match["word"]) is not None:
        return SqlToken("word", word, word.upper(), start=start)
    if (symbol := match["symbol"]) is not None:
        return SqlToken("symbol", symbol, symbol, start=start)
    return SqlToken("end", "", start=start)
