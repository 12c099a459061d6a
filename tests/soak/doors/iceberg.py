"""The Iceberg catalog: listings, tables by both ways, plans, signed requests, and PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from soak.doors.files import READ, STALE_SECONDS, joined, read_file
from soak.record import Stopped
from soak.site import READERS, SHARE
from soak.tables import ChangingTable
from soak.visitor import Operation, Visitor, iceberg

_SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}
_VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}
_PLANNED = {"scan-planning-mode": "server", "header.X-Iceberg-Access-Delegation": "remote-signing"}
_ON_CLIENT = {"header.X-Iceberg-Access-Delegation": "remote-signing"}


async def listings(visitor: Visitor) -> None:
    """What a client requests before it loads a table."""
    door = "iceberg: listings"
    config = (await visitor.get(door, "/iceberg/v1/config", params={"warehouse": SHARE})).json()
    visitor.wrong(door, None if "overrides" in config else f"the configuration is {config}")
    path = f"/iceberg/v1/shares/{SHARE}/namespaces"
    names = (await visitor.get(door, path)).json()["namespaces"]
    visitor.wrong(door, None if len(names) == 4 else f"the namespaces are {names}")
    table, since = visitor.table(), visitor.record.now
    tables = f"{path}/{table.path[1]}/tables"
    found = (await visitor.get(door, tables, needs=table.needs)).json()["identifiers"]
    named = [each["name"] for each in found]
    if table.path[2] not in named:  # a listing omits tables that it cannot look up
        visitor.failed_later(door, f"the tables of {table.path[1]} are {named}", table.needs, since)


async def load_vended(visitor: Visitor) -> None:
    """The metadata of an Iceberg table, with credentials."""
    table = visitor.site.table("iceberg")
    door = "iceberg: table with credentials"
    loaded = await visitor.get(door, iceberg(table), headers=_VENDED, needs=table.needs)
    found = loaded.json()
    visitor.wrong(door, None if found.get("storage-credentials") else "no credentials were vended")


async def scan_by_hand(visitor: Visitor) -> None:
    """A plan, and each of its files by a signed request."""
    table = visitor.table()
    since = visitor.record.now
    door = "iceberg: table by file"
    loaded = await visitor.get(door, iceberg(table), headers=_SIGNING, needs=table.needs)
    config = loaded.json()["config"]
    tasks = await _plan(visitor, table)
    door = "iceberg: sign"
    tables = []
    for task in tasks:
        path = task["data-file"]["file-path"].removeprefix("s3://")
        body = {
            "region": config["client.region"],
            "uri": f"{config['s3.endpoint']}/{quote(path, safe='/~')}",
            "method": "GET",
            "headers": {},
            "provider": "s3",
        }
        signed = await _post(visitor, door, table, "/sign", body)
        tables.append(await read_file(visitor, signed["uri"], {}))
    visitor.wrong(READ, table.wrong(joined(tables), None, since, STALE_SECONDS))


async def _plan(visitor: Visitor, table: ChangingTable) -> list[dict[str, Any]]:
    door = "iceberg: plan"
    answer = await _post(visitor, door, table, "/plan", {})
    tasks = list(answer.get("file-scan-tasks") or [])
    waiting = list(answer.get("plan-tasks") or [])
    while waiting:
        more = await _post(visitor, door, table, "/tasks", {"plan-task": waiting.pop()})
        tasks += more.get("file-scan-tasks") or []
        waiting += more.get("plan-tasks") or []
    return tasks


async def _post(
    visitor: Visitor, door: str, table: ChangingTable, path: str, body: Mapping[str, Any]
) -> dict[str, Any]:
    response = await visitor.post(
        door, iceberg(table, path), json=body, headers=_SIGNING, needs=table.needs
    )
    answer: dict[str, Any] = response.json()
    return answer


async def pyiceberg(visitor: Visitor) -> None:
    """PyIceberg scans a table: with credentials, or by file, planned by itself or by the gateway."""
    table = visitor.table()
    ways = [_ON_CLIENT, _PLANNED] if table.versioned else [{}, _ON_CLIENT, _PLANNED]
    properties = visitor.random.choice(ways)
    token = visitor.site.profiles[READERS[0]]["bearerToken"]
    uri = f"{visitor.site.gateway.address}/iceberg"
    scans = visitor.site.scans
    door = "iceberg: PyIceberg"
    if scans.turn.locked():
        raise Stopped  # otherwise, clients would wait for each other on a busy machine
    async with scans.turn:
        since = visitor.record.now
        rows = await visitor.library(
            door,
            table.name,
            table.needs,
            lambda: scans.rows(uri, table.path, {"token": token, **properties}),
        )
    visitor.wrong(door, table.wrong(rows, None, since, STALE_SECONDS))


OPERATIONS = (
    Operation("Iceberg listings", 3, listings),
    Operation("Iceberg table with credentials", 2, load_vended),
    Operation("Iceberg scan", 4, scan_by_hand),
    Operation("PyIceberg", 2, pyiceberg),
)
