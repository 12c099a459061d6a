"""Types of the Delta schema as Iceberg types, and the changes of types that both formats allow.

Source: Delta protocol, "Primitive Types" and "Type Widening"; Iceberg specification, "Schemas and
Data Types" and "Schema Evolution".
"""

from __future__ import annotations

import re
from typing import Final

VARIANT: Final = "variant"
"""A type of both formats. Iceberg has it since version 3."""

_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),\s*([0-9]{1,2})\)")
_MOST_DIGITS = 38
_PADDED = re.compile(r"(?:var)?char\(\d+\)")
_SAME = {
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    VARIANT: VARIANT,
}
_WIDENED = {("int", "long"), ("float", "double")}
_KINDS = {"int": "integer", "long": "integer", "float": "floating", "double": "floating"}


def primitive_type(name: str) -> str | None:
    """The Iceberg type of a primitive type of Delta, or `None` if Iceberg readers cannot read it."""
    if decimal := _DECIMAL.fullmatch(name):
        precision, scale = int(decimal[1]), int(decimal[2])
        valid = 0 < precision <= _MOST_DIGITS and scale <= precision
        return f"decimal({precision}, {scale})" if valid else None
    if _PADDED.fullmatch(name):
        return "string"
    return _SAME.get(name)


def can_widen(old: str, new: str) -> bool:
    """Whether Iceberg readers can read files with an old type as the new one."""
    before, after = primitive_type(old), primitive_type(new)
    if before is None or after is None:
        return False
    if before == after or (before, after) in _WIDENED:
        return True
    narrow, wide = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    if narrow is None or wide is None:
        return False
    return int(narrow[2]) == int(wide[2]) and int(narrow[1]) <= int(wide[1])


def kind_of(type_: str) -> str:
    """A name that a column's type keeps when it is widened.

    A column whose kind changes was replaced by another column with the same name.
    """
    if type_.startswith("decimal"):
        return "decimal"
    return _KINDS.get(type_, type_)
