"""The Spark connector's requests, and what it demands of each answer before it reads a line of it.

Written after `DeltaSharingRestClient` of delta-sharing-client 1.4.1, which is in no registry. An
assertion that fails here is an exception there.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

READER_FEATURES = (
    "deletionVectors,columnMapping,timestampNtz,typeWidening-preview,typeWidening,variantType-preview,"
    "geospatial,variantType,variantShredding-preview,variantShredding"
)
_NEWEST_PROTOCOL = 2
_HEAD = 2  # lines: protocol and metadata


@dataclass(frozen=True)
class Reply:
    """An answer that the connector accepts."""

    version: int
    format: str
    lines: Sequence[str]
    end: Mapping[str, Any] | None = None
    pages: int = 1

    @property
    def refresh_token(self) -> str | None:
        """The token of the first page."""
        return (self.end or {}).get("refreshToken") or None


@dataclass(frozen=True)
class Connector:
    """One client of the connector, which has a fixed format, as `DeltaSharingRestClient` does.

    Attributes:
        pause: Seconds between two polls.
    """

    client: httpx.Client
    path: str
    formats: str = "parquet"
    max_files: int | None = None
    asynchronous: bool = False
    ended: bool = False
    pause: float = 1.0
    polls: list[bool] = field(default_factory=list)

    def metadata(self, version: int | None = None) -> Reply:
        """`getMetadata`: two lines exactly."""
        query = "" if version is None else f"?version={version}"
        reply = self._get(f"{self.path}/metadata{query}", ended=False)
        assert len(reply.lines) == _HEAD, f"received more than two lines: {reply.lines}"
        # `DeltaSharingFileIndex` needs the size to plan a query.
        assert isinstance(json.loads(reply.lines[1])["metaData"]["size"], int)
        return reply

    def version(self) -> int:
        """`getTableVersion`."""
        response = self.client.get(f"{self.path}/version", headers=self._headers(ended=False))
        assert response.status_code in (200, 204), response.text
        return int(response.headers["Delta-Table-Version"])

    def files(
        self,
        *,
        version: int | None = None,
        limit: int | None = None,
        predicates: Sequence[str] = (),
        json_predicate: str | None = None,
        refresh_token: str | None = None,
    ) -> Reply:
        """`getFiles` of a snapshot."""
        body = {
            "predicateHints": list(predicates),
            "limitHint": limit,
            "version": version,
            "jsonPredicateHints": json_predicate,
            "maxFiles": self.max_files,
            "includeRefreshToken": version is None,
            "refreshToken": refresh_token,
            "idempotency_key": str(uuid.uuid4()) if self.asynchronous else None,
        }
        reply = self._by_page(body)
        if reply.format == "parquet":
            assert version in (None, reply.version)
            check_parquet(reply.lines, ("file",))
        return reply

    def files_since(self, start: int, end: int) -> Reply:
        """`getFiles` of a stream."""
        body: dict[str, Any] = {"predicateHints": [], "startingVersion": start, "endingVersion": end}
        if self.formats != "parquet":
            body["includeHistoricalProtocol"] = True
        reply = self._by_page(body) if self.max_files else self._post(f"{self.path}/query", body)
        if reply.format == "parquet":
            check_parquet(reply.lines, ("add", "remove", "metaData"))
        return reply

    def changes(self, **options: object) -> Reply:
        """`getCDFFiles`, by the options of a reader."""
        asked = {**options, "includeHistoricalMetadata": "true"}
        if self.formats != "parquet":
            asked["includeHistoricalProtocol"] = "true"
        parameters = "&".join(f"{name}={value}" for name, value in asked.items())
        target = f"{self.path}/changes?{parameters}"
        if self.max_files is not None:
            target += f"&maxFiles={self.max_files}"
        first = self._get(target)

        def page(token: str) -> Reply:
            return self._get(f"{target}&pageToken={token}")

        reply = self._with_pages(first, page)
        if reply.format == "parquet":
            check_parquet(reply.lines, ("add", "cdf", "remove", "metaData"))
        return reply

    def _by_page(self, body: Mapping[str, Any]) -> Reply:
        target = f"{self.path}/query"
        first = self._post(target, body, ended=self.ended and not self.asynchronous)
        status = json.loads(first.lines[0]).get("queryStatus") if self.asynchronous else None
        if status is None:

            def next_page(token: str) -> Reply:
                left = ("includeRefreshToken", "refreshToken")
                asked = {name: each for name, each in body.items() if name not in left}
                paging = {"maxFiles": self.max_files, "pageToken": token}
                return self._post(target, {**asked, **paging}, ended=not self.asynchronous)

            return self._with_pages(first, next_page)
        query = status["queryId"]
        polled = f"{self.path}/queries/{query}"

        def poll(token: str | None = None) -> Reply:
            asked = {"queryId": query, "maxFiles": self.max_files, "pageToken": token}
            return self._post(polled, asked, ended=False)

        first = self._polled(query, poll)
        return self._with_pages(first, poll)

    def _polled(self, query: str, poll: Any) -> Reply:
        """`getNDJsonWithAsync`: any status counts as pending."""
        self.polls.append(True)
        for _ in range(60):
            time.sleep(self.pause)
            reply: Reply = poll()
            status = json.loads(reply.lines[0]).get("queryStatus")
            self.polls.append(status is not None)
            if status is None:
                return reply
            assert status["queryId"] == query, "QueryId is not consistent in the response"
        raise AssertionError("Query is timed out")

    def _with_pages(self, first: Reply, page: Any) -> Reply:
        lines, end, pages = list(first.lines), first.end, 1
        while end is not None and end.get("nextPageToken"):
            reply: Reply = page(end["nextPageToken"])
            expected = (first.version, first.format, *first.lines[:_HEAD])
            found = (reply.version, reply.format, *reply.lines[:_HEAD])
            assert found == expected, "Received inconsistent version/format/protocol/metadata"
            lines += reply.lines[_HEAD:]
            end, pages = reply.end, pages + 1
        return Reply(first.version, first.format, lines, first.end, pages)

    def _get(self, target: str, *, ended: bool | None = None) -> Reply:
        ended = self.ended if ended is None else ended
        return self._accepted(self.client.get(target, headers=self._headers(ended=ended)), ended=ended)

    def _post(self, target: str, body: Mapping[str, Any], *, ended: bool | None = None) -> Reply:
        ended = self.ended if ended is None else ended
        content = json.dumps({name: value for name, value in body.items() if value is not None})
        headers = {**self._headers(ended=ended), "Content-type": "application/json"}
        response = self.client.post(target, content=content, headers=headers)
        return self._accepted(response, ended=ended)

    def _headers(self, *, ended: bool) -> dict[str, str]:
        capabilities = [f"responseformat={self.formats}"]
        if self.formats != "parquet":
            capabilities.append(f"readerfeatures={READER_FEATURES}")
        if self.asynchronous:
            capabilities.append("asyncquery=true")
        if ended:
            capabilities.append("includeendstreamaction=true")
        return {"delta-sharing-capabilities": ";".join(capabilities)}

    def _accepted(self, response: httpx.Response, *, ended: bool) -> Reply:
        assert response.status_code == 200, response.text
        said = response.headers["delta-sharing-capabilities"].lower().split(";")
        agreed = dict(part.split("=") for part in said)
        lines = response.text.splitlines()
        last = json.loads(lines[-1]).get("endStreamAction")
        if ended and agreed.get("includeendstreamaction") == "true":
            assert last is not None, "the answer lacks its last line"
            assert last.get("errorMessage") is None, last
        answered = agreed.get("responseformat", "parquet")
        assert answered in self.formats.split(","), "RespondedFormat is different from the requested"
        version = int(response.headers["Delta-Table-Version"])
        return Reply(version, answered, lines if last is None else lines[:-1], last)


def check_parquet(lines: Sequence[str], kinds: Sequence[str]) -> None:
    """What the connector demands of lines in parquet format: which there are, and what files say."""
    head = [json.loads(line) for line in lines[:_HEAD]]
    assert head[0]["protocol"]["minReaderVersion"] <= _NEWEST_PROTOCOL
    assert json.loads(head[1]["metaData"]["schemaString"])["type"] == "struct"
    for line in lines[_HEAD:]:
        ((kind, value),) = json.loads(line).items()
        assert kind in kinds, f"Unexpected Line: {line}"
        if kind == "metaData":
            continue
        assert isinstance(value["url"], str)
        assert isinstance(value["id"], str)
        assert isinstance(value["size"], int)
        assert all(each is None or isinstance(each, str) for each in value["partitionValues"].values())
        if kind != "file":
            assert isinstance(value["version"], int)
            assert isinstance(value["timestamp"], int)


def spoken(reply: Reply) -> list[Any]:
    """The lines without what another request for the same changes: URLs and their expiry."""
    return [_without_urls(json.loads(line)) for line in reply.lines]


def _without_urls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    left = ("url", "path", "expirationTimestamp", "pathOrInlineDv")
    return {key: _without_urls(each) for key, each in value.items() if key not in left}
