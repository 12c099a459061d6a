"""The gateway's responses about one table, in either format, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import httpx
import orjson
from histories.oracle import delta_columns

PARQUET: Mapping[str, str] = {}
DELTA: Mapping[str, str] = {
    "delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors,columnmapping"
}

_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True)
class FileLine:
    """One file of a response."""

    kind: str
    id: str
    content: Mapping[str, Any]
    version: int | None
    timestamp: int | None

    @property
    def url(self) -> str:
        """Where the file is fetched."""
        url: str = self.content["url"] if "url" in self.content else self.content["path"]
        return url


@dataclass(frozen=True)
class TableResponse:
    """The content of a response."""

    version: int
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    later: Mapping[int, Mapping[str, Any]]
    files: list[FileLine]

    def in_force(self, version: int) -> TableResponse:
        """The same with the metadata that a version has."""
        known = [each for each in self.later if each <= version]
        return replace(self, metadata=self.later[max(known)]) if known else self

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Delta types of the columns."""
        return delta_columns(self._schema)

    @property
    def physical_names(self) -> dict[str, str]:
        """What the columns are called in files, by what they are called in the table."""
        fields = self._schema["fields"]
        return {field["name"]: field["metadata"].get(_PHYSICAL, field["name"]) for field in fields}

    @property
    def _schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = orjson.loads(self.delta_metadata["schemaString"])
        return schema

    @property
    def delta_metadata(self) -> Mapping[str, Any]:
        """The table's metadata, in either format."""
        inner: Mapping[str, Any] = self.metadata.get("deltaMetadata", self.metadata)
        return inner


class Addressed(Protocol):
    """A table that the gateway shares."""

    @property
    def name(self) -> str:
        """Its name."""

    def path(self) -> str:
        """Its address below the Delta Sharing endpoint."""


class Refused(Exception):
    """The gateway's error, as it says it."""


class GatewayTable:
    """Reads one table from the gateway, in one format."""

    def __init__(self, client: httpx.Client, table: Addressed, capabilities: Mapping[str, str]) -> None:
        self._client = client
        self._table = table
        self._headers = dict(capabilities)

    def snapshot(self, **travel: int | str) -> TableResponse:
        """The files of the latest version, or of a `version` or `timestamp`."""
        return self._query(travel)

    def stream(self, first: int, last: int) -> TableResponse:
        """The files that a range of versions added and removed."""
        return self._query({"startingVersion": first, "endingVersion": last})

    def changes(self, first: int, last: int) -> TableResponse:
        """The change data feed of a range of versions."""
        return self._changes({"startingVersion": first, "endingVersion": last})

    def changes_between(self, first: str, last: str) -> TableResponse:
        """The change data feed between two moments in ISO 8601, both included."""
        return self._changes({"startingTimestamp": first, "endingTimestamp": last})

    def version(self) -> int:
        """The latest version."""
        response = self._client.get(f"{self._table.path()}/version")
        return int(response.headers["delta-table-version"])

    def path(self, file: FileLine) -> str:
        """The literal path of a file, relative to the table."""
        location = unquote(urlsplit(file.url).path)
        return location.partition(f"/{self._table.name}/")[2]

    def _changes(self, parameters: Mapping[str, int | str]) -> TableResponse:
        url = f"{self._table.path()}/changes"
        return _parsed(self._client.get(url, params=parameters, headers=self._headers))

    def _query(self, body: Mapping[str, int | str]) -> TableResponse:
        url = f"{self._table.path()}/query"
        return _parsed(self._client.post(url, json=body, headers=self._headers))


def _parsed(response: httpx.Response) -> TableResponse:
    if response.status_code != 200:
        raise Refused(f"{response.status_code}: {response.text}")
    protocol, metadata, *lines = map(orjson.loads, response.text.splitlines())
    later = [line["metaData"] for line in lines if "metaData" in line]
    return TableResponse(
        int(response.headers["delta-table-version"]),
        protocol["protocol"],
        metadata["metaData"],
        {each["version"]: each for each in later},
        [_file(*line.popitem()) for line in lines if "metaData" not in line],
    )


def _file(kind: str, line: Mapping[str, Any]) -> FileLine:
    content = line
    if "deltaSingleAction" in line:
        ((kind, content),) = line["deltaSingleAction"].items()
    kind = "cdf" if kind == "cdc" else kind
    return FileLine(kind, line["id"], content, line.get("version"), line.get("timestamp"))
