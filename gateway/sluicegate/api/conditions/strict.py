"""Parses conditions strictly: unsupported SQL is an error and not ignored, as it is in hints."""

from __future__ import annotations

from typing import Final

from sluicegate.api.conditions.expressions import And, Comparison, Expression, Not, Or
from sluicegate.api.conditions.grammar import Parser
from sluicegate.api.conditions.tokens import NotUnderstood
from sluicegate.api.errors import InvalidRequest

MAX_CHARACTERS: Final = 1 << 14
MAX_DEPTH: Final = 32
MAX_TERMS: Final = 1000
_SHOWN: Final = 40
_ALLOWED: Final = (
    "a condition compares columns with constants by =, <>, <, <=, >, >=, <=>, IN, BETWEEN or IS NULL, "
    "and combines comparisons with AND, OR, NOT and parentheses; put texts in single quotes, and "
    "special column names in backticks; the only function is CAST(column AS type)"
)


def parse_condition(text: str) -> Expression:
    r"""Parse a condition. In its texts, `\\` is a backslash, and `\'` or `''` is a quote.

    Args:
        text: A condition in the SQL subset of `sluicegate.api.conditions`.

    Raises:
        InvalidRequest: The text is not a condition, or too long. The message contains the position and
            the allowed syntax.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidRequest(f"has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    try:
        parsed = Parser(text, strict=True, max_depth=MAX_DEPTH).parse()
    except NotUnderstood as wrong:
        raise InvalidRequest(_message(text, wrong)) from None
    terms = _terms(parsed)
    if terms > MAX_TERMS:
        raise InvalidRequest(f"has {terms:,} terms; at most {MAX_TERMS:,} are allowed")
    return parsed


def _message(text: str, wrong: NotUnderstood) -> str:
    start = wrong.start or 0
    rest = text[start : start + _SHOWN]
    place = f"from character {start + 1} on, {rest!r}" if rest else "at its end"
    said = str(wrong)
    why = "" if rest.startswith(said) else f" ({said})"
    return f"not understood {place}{why}: {_ALLOWED}"


def _terms(expression: Expression) -> int:
    match expression:
        case Comparison(_, _, literals):
            return len(literals)
        case Not(child):
            return _terms(child)
        case And(children) | Or(children):
            return sum(map(_terms, children))
    return 1
