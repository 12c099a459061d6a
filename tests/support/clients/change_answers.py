"""Asks for change feeds and streams, and says what came back in plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from support.gateways.shared_lake import LakeTable, SharedLake

DELTA = "responseformat=delta;readerfeatures=deletionvectors,columnmapping,timestampntz"
FORMATS = {"parquet": {}, "delta": {"delta-sharing-capabilities": DELTA}}
_KINDS = {"add": "add", "remove": "remove", "cdf": "cdc", "cdc": "cdc"}

# `("add", 3, "a.parquet")`: kind, version, and the file's path; of a protocol or metadata line the
# version alone, where it has one.
Said = tuple[Any, ...]


@dataclass(frozen=True)
class ChangeAnswer:
    """An answer, line by line."""

    headers: Mapping[str, str]
    lines: list[dict[str, Any]]
    end: dict[str, Any] | None
    head: bytes

    @classmethod
    def of(cls, response: httpx.Response) -> ChangeAnswer:
        """Read a response, which has to be a success."""
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
        texts = response.content.splitlines(keepends=True)
        lines = [json.loads(text) for text in texts]
        end = lines.pop()["endStreamAction"] if "endStreamAction" in lines[-1] else None
        return cls(response.headers, lines, end, b"".join(texts[:2]))

    @property
    def said(self) -> list[Said]:
        """All lines in short."""
        return [short(line) for line in self.lines]

    @property
    def changed(self) -> list[Said]:
        """The lines of files in short."""
        return [line for line in self.said if line[0] in _KINDS]

    @property
    def token(self) -> str | None:
        """The token of the next page."""
        return None if self.end is None else self.end.get("nextPageToken")


def feed(
    lake: SharedLake,
    table: LakeTable,
    *,
    schema: str = "full",
    recipient: str = "acme",
    form: str = "parquet",
    headers: Mapping[str, str] | None = None,
    **parameters: Any,
) -> httpx.Response:
    """Ask for a change data feed."""
    return lake.client(recipient).get(
        f"{table.path(schema)}/changes", params=parameters, headers={**FORMATS[form], **(headers or {})}
    )


def stream(
    lake: SharedLake,
    table: LakeTable,
    *,
    schema: str = "full",
    recipient: str = "acme",
    form: str = "parquet",
    headers: Mapping[str, str] | None = None,
    **body: Any,
) -> httpx.Response:
    """Ask for the files that were added and removed."""
    return lake.client(recipient).post(
        f"{table.path(schema)}/query", json=body, headers={**FORMATS[form], **(headers or {})}
    )


def short(line: Mapping[str, Any]) -> Said:
    """One line in short."""
    ((kind, value),) = line.items()
    if kind in ("protocol", "metaData"):
        return (kind, value["version"]) if "version" in value else (kind,)
    if kind == "file":
        ((kind, action),) = value["deltaSingleAction"].items()
        return kind, value["version"], path_of(action["path"])
    return _KINDS[kind], value["version"], path_of(value["url"])


def path_of(url: str) -> str:
    """The path of a file in its table, from a presigned URL."""
    return unquote(urlsplit(url).path).split("/", 4)[-1]


def actions(answer: ChangeAnswer) -> list[dict[str, Any]]:
    """The log's own actions of an answer in delta format."""
    return [line["file"]["deltaSingleAction"] for line in answer.lines if "file" in line]
