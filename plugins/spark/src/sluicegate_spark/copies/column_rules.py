"""What recipients see of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sluicegate_spark.copies.expressions import Node, parse_expression

RuleValue = str | Mapping[str, int | str] | None
"""A rule as the configuration contains it. `None` is YAML's `null`."""

_SHAPES: Final = "share, hide, hash, null, {truncate: LENGTH}, or {expression: SQL}"
_LONGEST: Final = 10_000  # characters


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What recipients see of a column."""

    kind: Literal["share", "hide", "hash", "null", "truncate", "expression"]
    length: int = 0
    expression: Node | None = None


def parse_rule(value: RuleValue) -> ColumnRule:
    """Parse a rule."""
    match value:
        case None | "null":
            return ColumnRule("null")
        case "share":
            return ColumnRule("share")
        case "hide":
            return ColumnRule("hide")
        case "hash":
            return ColumnRule("hash")
        case {"truncate": int() as length, **rest} if not rest and 0 <= length <= _LONGEST:
            return ColumnRule("truncate", length=length)
        case {"expression": str() as text, **rest} if not rest:
            return ColumnRule("expression", expression=parse_expression(text))
    raise ValueError(f"expected {_SHAPES}")
