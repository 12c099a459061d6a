"""Reads a manifest: schemas, their tables, and the tables' locations."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

COLUMNS = ("schema", "table", "location")

Tables = Mapping[str, Mapping[str, str]]


class BrokenManifestError(Exception):
    """The file is not a valid manifest. The message contains the position of the error."""


def read_manifest(path: Path) -> Tables:
    """Return the locations of a manifest's tables, by schema and table, without trailing slashes.

    Raises:
        OSError: The file can't be read.
        BrokenManifestError: The file is not a valid manifest.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BrokenManifestError("the file is not UTF-8 text") from None
    rows = _csv_rows(text) if path.suffix == ".csv" else _yaml_rows(text)
    tables: dict[str, dict[str, str]] = {}
    for place, schema, table, location in rows:
        if not schema or not table or "." in schema:
            raise BrokenManifestError(
                f"{place}: set the names of the schema (without dots) and the table"
            )
        if "://" not in location:
            raise BrokenManifestError(f"{place}: a location must start with a scheme, such as s3://")
        if tables.setdefault(schema, {}).setdefault(table, location.rstrip("/")) != location.rstrip(
            "/"
        ):
            raise BrokenManifestError(f"{place}: the table '{schema}.{table}' is listed twice")
    return tables


Row = tuple[str, str, str, str]


def _csv_rows(text: str) -> Iterator[Row]:
    reader = csv.DictReader(StringIO(text), strict=True)
    try:
        if reader.fieldnames is None or set(COLUMNS) - set(reader.fieldnames):
            raise BrokenManifestError(f"line 1: the columns must be {', '.join(COLUMNS)}")
        for row in reader:
            schema, table, location = ((row[column] or "").strip() for column in COLUMNS)
            yield f"line {reader.line_num}", schema, table, location
    except csv.Error as error:
        raise BrokenManifestError(f"line {reader.line_num}: {error}") from None


def _yaml_rows(text: str) -> Iterator[Row]:
    try:
        data = YAML(typ="safe", pure=True).load(text) or {}
    except YAMLError:
        raise BrokenManifestError("the file is not valid YAML") from None
    for schema, tables in _items(data, "the manifest"):
        for table, location in _items(tables, f"schema '{schema}'"):
            yield f"{schema}.{table}", schema, table, str(location)


def _items(data: object, place: str) -> Iterator[tuple[str, object]]:
    if not isinstance(data, dict):
        raise BrokenManifestError(f"{place} must be a mapping")
    for key, value in data.items():
        yield str(key), value
