"""Parses column names of a payload. They must be columns of the table, and are quoted in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, BeforeValidator

from sluicegate.api import TaskFailed
from sluicegate_spark.maintenance.sql import identifier

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

Path = tuple[str, ...]

_LONGEST: Final = 4096
_SHOWN: Final = 20
_PART: Final = r"(?:`(?:[^`]|``)+`|[^\W\d]\w*)"
_NAME: Final = rf"{_PART}(?:\.{_PART})*"
_TERM: Final = re.compile(
    rf"\s*(?P<name>{_NAME})(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*(?P<end>,|$)",
    re.IGNORECASE,
)
_ZORDER: Final = re.compile(r"\s*zorder\s*\((?P<names>.*)\)\s*", re.IGNORECASE | re.DOTALL)
_SHAPE: Final = "expected zorder(a, b), or a DESC NULLS LAST, b; quote unusual names with backticks"


def sort_order_sql(text: str) -> str:
    """Parse a sort order, and return it with quoted names."""
    if (clustered := _ZORDER.fullmatch(text)) is not None:
        terms = list(_terms(clustered["names"]))
        if any(each["way"] or each["nulls"] for each in terms):
            raise ValueError(_SHAPE)
        return f"zorder({', '.join(_quoted(each) for each in terms)})"
    return ", ".join(_ordered(each) for each in _terms(text))


def names_in(sort_order: str) -> tuple[Path, ...]:
    """Return the columns of a sort order that `sort_order_sql` returned."""
    if not sort_order:
        return ()
    clustered = _ZORDER.fullmatch(sort_order)
    terms = _terms(sort_order if clustered is None else clustered["names"])
    return tuple(_path(each["name"]) for each in terms)


def column_names(text: str) -> tuple[Path, ...]:
    """Parse column names separated by commas. Names of nested fields contain dots."""
    found = list(_terms(text))
    if any(each["way"] or each["nulls"] for each in found):
        raise ValueError("expected column names separated by commas")
    return tuple(_path(each["name"]) for each in found)


Columns = Annotated[
    tuple[Path, ...],
    BeforeValidator(lambda text: column_names(text) if isinstance(text, str) else text),
]
"""Columns of a table, as parsed by `column_names`."""

SortOrder = Annotated[str, AfterValidator(sort_order_sql)]
"""A value of Iceberg's `sort_order`, with no function except `zorder`."""


def check_columns(schema: StructType, paths: Iterable[Path], place: str) -> None:
    """Reject names that are not columns: Spark would look for functions with these names."""
    for path in paths:
        found: DataType | None = schema
        for part in path:
            found = _field(found, part)
            if found is None:
                known = ", ".join(schema.names[:_SHOWN])
                raise unfit(
                    f"'{place}': the table has no column {identifier(*path)}; its columns are {known}"
                )


def check_partition_columns(columns: Sequence[str], paths: Iterable[Path], place: str) -> None:
    """Reject columns that are not partition columns of the table."""
    known = {name.lower() for name in columns}
    for path in paths:
        if len(path) > 1 or path[0].lower() not in known:
            allowed = f"only {', '.join(columns)} can be used" if columns else "it has none"
            raise unfit(
                f"'{place}': {identifier(*path)} is not a partition column of the table; {allowed}"
            )


def unfit(why: str) -> TaskFailed:
    """Return the failure of a task whose payload doesn't match its table."""
    return TaskFailed(f"properties: {why}", error_code="INVALID_PAYLOAD")


def _field(parent: DataType | None, name: str) -> DataType | None:
    """Return the type of a field. Names in Spark are not case-sensitive."""
    fields = getattr(parent, "fields", ())
    return next((each.dataType for each in fields if each.name.lower() == name.lower()), None)


def _terms(text: str) -> Iterator[re.Match[str]]:
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text):,} characters; at most {_LONGEST:,} are allowed")
    position, end = 0, ","
    while end:
        term = _TERM.match(text, position)
        if term is None:
            raise ValueError(f"invalid from character {position + 1} on: {_SHAPE}")
        yield term
        position, end = term.end(), term["end"]


def _ordered(term: re.Match[str]) -> str:
    nulls = f"NULLS {term['nulls']}" if term["nulls"] else None
    return " ".join(filter(None, (_quoted(term), term["way"], nulls)))


def _quoted(term: re.Match[str]) -> str:
    return identifier(*_path(term["name"]))


def _path(name: str) -> Path:
    return tuple(
        part[1:-1].replace("``", "`") if part.startswith("`") else part
        for part in re.findall(_PART, name)
    )
