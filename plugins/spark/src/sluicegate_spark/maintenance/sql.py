"""SQL text for Spark, made of names and values that somebody else chose."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

Value = str | int | bool | datetime | Mapping[str, str]

# The session reads literals as `literal` writes them, and puts no settings into statements.
SETTINGS: Mapping[str, str] = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}


def identifier(*parts: str) -> str:
    """Parts of a name with dots between them, each quoted."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def literal(value: Value) -> str:
    """A value as Spark's SQL writes it; a time has to be aware of its zone."""
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
    """A statement that calls one of Iceberg's procedures.

    Args:
        catalog: Spark's name of the table's catalog.
        procedure: Its name.
        arguments: By their names; what is `None` or an empty map is left out.
    """
    given = (
        f"{name} => {literal(value)}"
        for name, value in arguments.items()
        if value is not None and value != {}
    )
    return f"CALL {identifier(catalog)}.system.{procedure}({', '.join(given)})"
