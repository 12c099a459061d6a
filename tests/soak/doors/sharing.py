"""Delta Sharing: listings, metadata, queries, changes, and answers that take long."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

import httpx
from soak.doors.files import check_rows, rows_of_lines
from soak.site import SHARE, WHOLE
from soak.tables import PARTS, ChangingTable, part_of
from soak.visitor import SHARE_PATH, Operation, Visitor, lines_of, sharing

_DELTA = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors"}
_ASYNC = {"delta-sharing-capabilities": "asyncquery=true"}
_POLLS = 60
_FEED = 4  # versions
_NEW, _OLD = ("insert", "update_postimage"), ("delete", "update_preimage")


async def listings(visitor: Visitor) -> None:
    """All listings of a recipient."""
    door = "sharing: listings"
    shares = (await visitor.get(door, "/delta-sharing/shares?maxResults=1")).json()
    names = [each["name"] for each in shares["items"]]
    if token := shares.get("nextPageToken"):
        more = await visitor.get(door, "/delta-sharing/shares", params={"pageToken": token})
        names += [each["name"] for each in more.json()["items"]]
    visitor.wrong(door, None if {SHARE, WHOLE} <= set(names) else f"the shares are {names}")
    schemas = (await visitor.get(door, f"{SHARE_PATH}/schemas")).json()["items"]
    visitor.wrong(door, None if len(schemas) == 4 else f"the schemas are {schemas}")
    tables = (await visitor.get(door, f"{SHARE_PATH}/all-tables")).json()["items"]
    found = {(each["share"], each["schema"], each["name"]) for each in tables}
    missing = {each.path for each in visitor.site.tables} - found
    visitor.wrong(door, f"the listing lacks {missing}" if missing else None)
    visitor.wrong(
        door, "the listing has a denied table" if any("embargo" in each for each in found) else None
    )


async def schema_listings(visitor: Visitor) -> None:
    """The listing of a schema that is shared with all of its tables."""
    schema, target = visitor.random.choice([("unity", "unity catalog"), ("iceberg", "iceberg catalog")])
    door = "sharing: schemas of catalogs"
    path = f"/delta-sharing/shares/{WHOLE}/schemas/{schema}/tables"
    tables = (await visitor.get(door, path, needs={target})).json()["items"]
    visitor.wrong(door, None if len(tables) == 1 else f"the tables are {tables}")


async def denied(visitor: Visitor) -> None:
    """A table that a policy denies, and one that does not exist."""
    door = "sharing: not shared"
    for name in ("embargo", "nothing"):
        path = f"{SHARE_PATH}/schemas/paths/tables/{name}"
        await visitor.get(door, f"{path}/metadata", expected={404})
        await visitor.post(door, f"{path}/query", json={}, expected={404})


async def metadata(visitor: Visitor) -> None:
    """The version and the metadata of a table."""
    table = visitor.table()
    door = "sharing: metadata"
    version = await visitor.get(door, sharing(table, "/version"), needs=table.needs)
    headers = _DELTA if visitor.random.random() < 0.5 else {}
    found = await visitor.get(door, sharing(table, "/metadata"), headers=headers, needs=table.needs)
    lines = lines_of(found)
    visitor.wrong(door, None if len(lines) == 2 else f"metadata of {len(lines)} lines")
    later = int(found.headers["delta-table-version"]) >= int(version.headers["delta-table-version"])
    visitor.wrong(door, None if later else "the version of a table has decreased")


async def query(visitor: Visitor) -> None:
    """All rows of the latest version."""
    await _query(visitor, "sharing: query", visitor.table(), {})


async def query_version(visitor: Visitor) -> None:
    """All rows of an earlier version."""
    table = _versioned(visitor)
    version = visitor.random.randrange(max(0, len(table.states) - 40), len(table.states) - 1)
    await _query(visitor, "sharing: query of a version", table, {"version": version}, version)


async def query_timestamp(visitor: Visitor) -> None:
    """All rows of the version that was the latest one at a time."""
    table = _versioned(visitor)
    version = visitor.random.randrange(max(0, len(table.states) - 40), len(table.states) - 1)
    if (moment := table.between(version)) is not None:
        text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        await _query(visitor, "sharing: query of a time", table, {"timestamp": text}, version)


async def query_part(visitor: Visitor) -> None:
    """The rows of one partition, which the files of an answer must contain."""
    table = visitor.table()
    door, part = "sharing: query with a predicate", f"p{visitor.random.randrange(PARTS)}"
    column = {"op": "column", "name": "part", "valueType": "string"}
    literal = {"op": "literal", "value": part, "valueType": "string"}
    hint = json.dumps({"op": "equal", "children": [column, literal]})
    body = {"jsonPredicateHints": hint, "predicateHints": [f"part = '{part}'"]}
    lines, version = await _answer(visitor, door, table, body)
    rows = await rows_of_lines(visitor, lines)
    if not table.versioned:
        return
    found = {each for each in rows["id"].to_pylist() if part_of(each) == part}
    expected = {each for each in table.state(version) if part_of(each) == part}
    wrong = None if found == expected else f"{len(found ^ expected)} rows of '{part}' differ"
    visitor.wrong(door, wrong and f"{table.name} version {version}: {wrong}")


async def query_limit(visitor: Visitor) -> None:
    """At least as many rows as were requested."""
    table, limit = visitor.table(), visitor.random.randrange(1, 20)
    door = "sharing: query with a limit"
    lines, version = await _answer(visitor, door, table, {"limitHint": limit})
    rows = await rows_of_lines(visitor, lines)
    visitor.wrong(door, None if rows.num_rows >= limit else f"{rows.num_rows} of {limit} rows")
    if table.versioned:
        more = set(rows["id"].to_pylist()) - table.state(version)
        visitor.wrong(door, f"{table.name} version {version}: rows {more} are wrong" if more else None)


async def query_pages(visitor: Visitor) -> None:
    """All rows, in pages."""
    table = visitor.table()
    door = "sharing: pages of a query"
    since = visitor.record.now
    lines, version = await _answer(visitor, door, table, {"maxFiles": 3})
    pages = list(lines)
    while token := _next_page(lines):
        lines, _ = await _answer(visitor, door, table, {"maxFiles": 3, "pageToken": token})
        pages += lines
    await check_rows(visitor, door, table, pages, version, since)


async def query_async(visitor: Visitor) -> None:
    """A query that can be pending."""
    table = visitor.table()
    door = "sharing: asynchronous query"
    since = visitor.record.now
    body: dict[str, Any] = {"idempotencyKey": uuid.uuid4().hex}
    path = sharing(table, "/query")
    response = await visitor.post(door, path, json=body, headers=_ASYNC, needs=table.needs)
    for _ in range(_POLLS):
        lines = lines_of(response)
        status = lines[0].get("queryStatus", {}) if lines else {}
        if status.get("status") != "pending":
            break
        await asyncio.sleep(1)
        polled = sharing(table, f"/queries/{status['queryId']}")
        response = await visitor.post(
            door, polled, json={"queryId": status["queryId"]}, headers=_ASYNC, needs=table.needs
        )
    if status:  # the protocol's answer if something fails after the id was sent
        visitor.failed_later(door, f"the query is {status}", table.needs, since)
    version = int(response.headers["delta-table-version"])
    await check_rows(visitor, door, table, lines, version, since)


async def changes(visitor: Visitor) -> None:
    """Changes between two versions, which make the rows of the first those of the last."""
    table = _versioned(visitor)
    door = "sharing: changes"
    last = len(table.states) - 2  # the latest one may not be written yet
    if last < 1:
        return
    first = max(1, last - visitor.random.randrange(_FEED))
    response = await visitor.get(
        door,
        sharing(table, "/changes"),
        params={"startingVersion": first, "endingVersion": last},
        needs=table.needs,
    )
    counted = Counter(table.state(first - 1))
    for line in lines_of(response):
        kind = next(iter(line))
        rows = await rows_of_lines(visitor, [line])
        types = rows["_change_type"].to_pylist() if "_change_type" in rows.column_names else []
        for place, id in enumerate(rows["id"].to_pylist()):
            change = types[place] if types else {"add": "insert", "remove": "delete"}[kind]
            counted[id] += (change in _NEW) - (change in _OLD)
    right = dict.fromkeys(table.state(last), 1) == {id: n for id, n in counted.items() if n}
    wrong = None if right else f"{table.name}: changes {first} to {last} are wrong"
    visitor.wrong(door, wrong)


def _versioned(visitor: Visitor) -> ChangingTable:
    return visitor.random.choice(
        [each for each in visitor.site.tables if each.versioned and len(each.states) > 1]
    )


def _next_page(lines: list[dict[str, Any]]) -> str | None:
    end: Mapping[str, Any] = lines[-1].get("endStreamAction", {}) if lines else {}
    return end.get("nextPageToken")


async def _query(
    visitor: Visitor,
    door: str,
    table: ChangingTable,
    body: Mapping[str, Any],
    expected: int | None = None,
) -> None:
    since = visitor.record.now
    lines, version = await _answer(visitor, door, table, body)
    if expected is not None and version != expected:
        visitor.wrong(door, f"{table.name}: version {version} instead of {expected}")
    await check_rows(visitor, door, table, lines, version, since)


async def _answer(
    visitor: Visitor,
    door: str,
    table: ChangingTable,
    body: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], int]:
    """The lines of an answer, and the version of the table."""
    headers = _DELTA if visitor.random.random() < 0.5 else {}
    response: httpx.Response = await visitor.post(
        door,
        sharing(table, "/query"),
        json=body,
        headers=headers,
        needs=table.needs,
    )
    return lines_of(response), int(response.headers["delta-table-version"])


OPERATIONS = (
    Operation("listings", 4, listings),
    Operation("schema listings", 3, schema_listings),
    Operation("not shared", 1, denied),
    Operation("metadata", 6, metadata),
    Operation("query", 8, query),
    Operation("query of a version", 4, query_version),
    Operation("query of a time", 1, query_timestamp),
    Operation("query with a predicate", 4, query_part),
    Operation("query with a limit", 3, query_limit),
    Operation("pages", 3, query_pages),
    Operation("asynchronous query", 3, query_async),
    Operation("changes", 4, changes),
)
