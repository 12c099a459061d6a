"""Temporary credentials and Hadoop tokens, which must open the directory of their table."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from soak.doors.files import STALE_SECONDS
from soak.tables import ChangingTable
from soak.visitor import Operation, Visitor, sharing

from sluicegate.vending.hadoop.identifier import decode_identifier
from sluicegate.vending.hadoop.token import from_url
from sluicegate_testing.secrets import keep_secret


async def temporary(visitor: Visitor) -> None:
    """Credentials with which `deltalake` reads the table."""
    table = _vended(visitor)
    door = "sharing: temporary credentials"
    path = sharing(table, "/temporary-table-credentials")
    answer = (await visitor.post(door, path, json={}, needs=table.needs)).json()["credentials"]
    given = answer["awsTempCredentials"]
    keys = (given["accessKeyId"], given["secretAccessKey"], given["sessionToken"])
    await _read(visitor, "directory access: read", table, answer["location"], keys)


async def hadoop(visitor: Visitor) -> None:
    """A token whose credentials read the table."""
    table = _vended(visitor)
    path = sharing(table, "/hadoop-delegation-token")
    answer = await visitor.post("sharing: Hadoop token", path, json={}, needs=table.needs)
    (token,) = answer.json()["tokens"]
    identifier, _ = decode_identifier(from_url(token["token"]).identifier)
    secret = identifier.credentials
    keys = (secret.access_key, secret.secret_key, secret.session_token)
    location = f"s3://{visitor.site.store.bucket}/{table.path[2]}"
    await _read(visitor, "Hadoop token: read", table, location, keys)


async def _read(
    visitor: Visitor, door: str, table: ChangingTable, location: str, keys: tuple[str, str, str]
) -> None:
    store = visitor.site.store
    keep_secret(*keys[1:])
    options: Mapping[str, str] = {
        "aws_endpoint": store.endpoint,
        "aws_region": store.region,
        "aws_access_key_id": keys[0],
        "aws_secret_access_key": keys[1],
        "aws_session_token": keys[2],
        "aws_allow_http": "true",
    }

    def read() -> tuple[pa.Table, int]:
        opened = DeltaTable(location, storage_options=dict(options))
        return pa.table(opened.to_pyarrow_table()), opened.version()

    since = visitor.record.now
    rows, version = await visitor.library(door, location, (), lambda: asyncio.to_thread(read))
    visitor.wrong(door, table.wrong(rows, version, since, STALE_SECONDS))


def _vended(visitor: Visitor) -> ChangingTable:
    return visitor.site.table(visitor.random.choice(["paths", "unity"]))


async def refused(visitor: Visitor) -> None:
    """No credentials for a table that is shared by URLs only."""
    table = visitor.site.table("local")
    path = sharing(table, "/temporary-table-credentials")
    door = "sharing: temporary credentials refused"
    response: Any = await visitor.post(door, path, json={}, expected={400, 403})
    visitor.wrong(door, None if "errorCode" in response.json() else "a refusal without a reason")


OPERATIONS = (
    Operation("temporary credentials", 2, temporary),
    Operation("Hadoop token", 2, hadoop),
    Operation("credentials refused", 1, refused),
)
