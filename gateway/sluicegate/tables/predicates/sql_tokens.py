"""The words of SQL predicates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>'(?:[^']|'')*')
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?P<suffix>BD|[LSYFD])?(?!\w))
      | (?P<word>[^\W\d]\w*)
      | (?P<symbol><=>|<=|>=|<>|!=|==|[=<>(),.+-])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.IGNORECASE,
)


class NotUnderstood(ValueError):
    """A predicate that is not of the SQL that is known here."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a symbol, or a constant; words and symbols in upper case for comparison.

    Attributes:
        kind: `quoted`, `name`, `number`, `word`, `symbol` or `end`.
        text: What it says, without quotes and number suffixes.
        upper: For words and symbols: in upper case.
        suffix: Of a number: the letter that names its type.
    """

    kind: str
    text: str
    upper: str = ""
    suffix: str = ""


def tokens(text: str) -> Iterator[Token]:
    r"""Cut SQL into tokens, the last one of kind `end`.

    Text with a backslash is not understood: in Spark's SQL `'\''` is one quote, in standard SQL it
    is a backslash and an open text.

    Raises:
        NotUnderstood: Something is none of these.
    """
    if "\\" in text:
        raise NotUnderstood("backslash")
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            raise NotUnderstood(text[position : position + 20])
        yield _token(match)
        if match["end"] is not None:
            return
        position = match.end()


def _token(match: re.Match[str]) -> Token:
    if (quoted := match["quoted"]) is not None:
        return Token("quoted", quoted[1:-1].replace("''", "'"))
    if (name := match["name"]) is not None:
        return Token("name", name[1:-1].replace("``", "`"))
    if (number := match["number"]) is not None:
        suffix = match["suffix"] or ""
        return Token("number", number.removesuffix(suffix), suffix=suffix.upper())
    if (word := match["word"]) is not None:
        return Token("word", word, word.upper())
    if (symbol := match["symbol"]) is not None:
        return Token("symbol", symbol, symbol)
    return Token("end", "")
