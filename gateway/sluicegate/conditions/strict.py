"""Conditions that are carried out: what is not understood is refused, not ignored."""

from __future__ import annotations

from typing import Final

from sluicegate.conditions.expressions import And, Comparison, Expression, Not, Or
from sluicegate.conditions.grammar import Parser
from sluicegate.conditions.tokens import NotUnderstood
from sluicegate.errors import InvalidRequest

MAX_CHARACTERS: Final = 1 << 14
MAX_DEPTH: Final = 32
MAX_TERMS: Final = 1000
_SHOWN: Final = 40
_ALLOWED: Final = (
    "a condition compares columns with constants by =, <>, <, <=, >, >=, <=>, IN, BETWEEN or IS NULL, "
    "and joins comparisons by AND, OR, NOT and parentheses; write texts in single quotes, rare names "
    "of columns in backticks, and no function but CAST(column AS type)"
)


def parse_condition(text: str) -> Expression:
    r"""The tree of a condition; within its texts, `\\` is a backslash and `\'` or `''` a quote.

    Args:
        text: SQL, as `sluicegate.conditions` describes it.

    Raises:
        InvalidRequest: It is something else, or too long; the message says where, and what is allowed.
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
