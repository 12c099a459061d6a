"""The words of SQL predicates."""

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
    """A predicate that is not of the SQL that is known here.

    Args:
        what: What is not understood, or why.
        start: The position of its first character, where that is known.
    """

    def __init__(self, what: str, start: int | None = None) -> None:
        super().__init__(what)
        self.start = start


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a symbol, or a constant; words and symbols in upper case for comparison.

    Attributes:
        kind: `quoted`, `name`, `number`, `word`, `symbol` or `end`.
        text: What it says, without quotes and number suffixes.
        upper: For words and symbols: in upper case.
        suffix: Of a number: the letter that names its type.
        start: The position of its first character.
    """

    kind: str
    text: str
    upper: str = ""
    suffix: str = ""
    start: int = 0


def tokens(text: str, *, escapes: bool) -> Iterator[Token]:
    r"""Cut SQL into tokens, the last one of kind `end`.

    Args:
        text: The SQL.
        escapes: Whether `\\` and `\'` in a text stand for one character, as in Spark's SQL. Otherwise
            text with a backslash is not understood: in standard SQL `'\'` is a whole text.

    Raises:
        NotUnderstood: Something is none of these.
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


def _token(match: re.Match[str], start: int) -> Token:
    if (quoted := match["quoted"]) is not None:
        text = _ESCAPED.sub(lambda found: found[1] or "'", quoted[1:-1])
        return Token("quoted", text, start=start)
    if (name := match["name"]) is not None:
        return Token("name", name[1:-1].replace("``", "`"), start=start)
    if (number := match["number"]) is not None:
        suffix = match["suffix"] or ""
        return Token("number", number.removesuffix(suffix), suffix=suffix.upper(), start=start)
    if (word := match["word"]) is not None:
        return Token("word", word, word.upper(), start=start)
    if (symbol := match["symbol"]) is not None:
        return Token("symbol", symbol, symbol, start=start)
    return Token("end", "", start=start)
