"""Builds SQL for Spark from untrusted names and values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

Value = str | int | bool | datetime | Mapping[str, str]

# The session parses literals as `literal` writes them, and doesn't substitute settings in statements.
SETTINGS: Mapping[str, str] = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}


def identifier(*parts: str) -> str:
    """Return quoted parts of a name, joined by dots."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def literal(value: Value) -> str:
    """Return a value as a Spark SQL literal. Times must have a time zone."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00:00'"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            pairs = (literal(part) for pair in value.items() for part in pair)
            return f"map({', '.join(pairs)})"


def call(catalog: str, procedure: str, arguments: Mapping[str, Value | None]) -> str:
    """Return a statement that calls one of Iceberg's procedures."""
    given = (
        f"{name} => {literal(value)}"
        for name, value in arguments.items()
        if value is not None and value != {}
    )
    return f"CALL {identifier(catalog)}.system.{procedure}({', '.join(given)})"
