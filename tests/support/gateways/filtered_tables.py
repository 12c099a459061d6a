"""Random tables behind one gateway, and the files that its protocols name for a filter."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
from support.filters.generate import ID, RandomTable, random_table
from support.filters.hints import json_hint
from support.filters.iceberg import expression_json
from support.filters.oracle import Row, comparable
from support.filters.tree import Filter
from support.filters.writing import physical_names, write_table
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

SHARE, SCHEMA = "random", "tables"
_CAPABILITIES = "responseformat=delta;readerfeatures=columnmapping,timestampntz,deletionvectors"


@dataclass
class FilteredTables:
    """A gateway that shares random tables, and a recipient that reads them."""

    running: RunningGateway
    profile: Mapping[str, Any]
    tables: Mapping[str, RandomTable]
    lake: Path
    client: httpx.Client
    _files: dict[str, list[Row]] = field(default_factory=dict)

    def planned(self, name: str, tree: Filter) -> list[str]:
        """The files that a plan of the Iceberg catalog names for a filter."""
        path = f"/iceberg/v1/shares/{SHARE}/namespaces/{SCHEMA}/tables/{name}/plan"
        answer = self._post(path, {"filter": expression_json(tree)}).json()
        return [_file_name(task["data-file"]["file-path"]) for task in answer["file-scan-tasks"]]

    def named(self, name: str, tree: Filter | None = None) -> dict[str, str]:
        """The files that Delta Sharing names for the equivalent hint, or all, with their URLs."""
        path = f"/delta-sharing/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}/query"
        answer = self._post(path, {"jsonPredicateHints": json_hint(tree)} if tree else {})
        lines = [json.loads(line) for line in answer.text.splitlines()]
        adds = [line["file"]["deltaSingleAction"]["add"] for line in lines if "file" in line]
        return {_file_name(add["path"]): add["path"] for add in adds}

    def rows(self, name: str, files: Mapping[str, str]) -> list[Row]:
        """The rows of files that Delta Sharing names, each of which is downloaded once."""
        return [row for file, url in files.items() for row in self._rows(name, file, url)]

    def _rows(self, name: str, file: str, url: str) -> Sequence[Row]:
        if file not in self._files:
            content = self.client.get(url, headers={"Authorization": ""}).raise_for_status().content
            self._files[file] = _known_rows(self.tables[name], pq.read_table(io.BytesIO(content)))
        return self._files[file]

    def _post(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        answer = self.client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer


def _file_name(path: str) -> str:
    """The last part of a path or URL, which is unique."""
    return unquote(urlsplit(path).path.rpartition("/")[2])


def _known_rows(table: RandomTable, content: pa.Table) -> list[Row]:
    """The rows of a file with the values of their partitions, which the file lacks."""
    logical = {physical: name for name, physical in physical_names(table).items()}
    by_id = {row[ID]: row for row in table.rows}
    found = []
    for values in content.rename_columns([logical[name] for name in content.column_names]).to_pylist():
        row = by_id[values[ID]]
        assert comparable(values) == comparable({name: row[name] for name in values})
        found.append(row)
    return found


@contextmanager
def filtered_tables(
    folder: Path, seeds: Sequence[int], *, for_pyiceberg: bool = True
) -> Iterator[FilteredTables]:
    """Write a random table for each seed and serve them, until the block ends."""
    lake = folder / "lake"
    tables = {f"t{seed}": random_table(seed, for_pyiceberg=for_pyiceberg) for seed in seeds}
    for name, table in tables.items():
        write_table(table, lake / name)
    shared = {name: {"catalog": "raw", "table": f"file://{lake}/{name}"} for name in tables}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": shared}}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as running:
        profile = json.loads(running.profile("acme").read_text())
        headers = {
            "Authorization": f"Bearer {profile['bearerToken']}",
            "delta-sharing-capabilities": _CAPABILITIES,
        }
        with httpx.Client(base_url=running.address, headers=headers, timeout=30) as client:
            yield FilteredTables(running, profile, tables, lake, client)
        assert "Traceback" not in running.log
