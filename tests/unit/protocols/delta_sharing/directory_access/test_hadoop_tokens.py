"""Requests for Hadoop delegation tokens, and the token files that they get."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from support.gateways.memory_client import AUTHENTICATION, send
from support.gateways.memory_gateway import (
    KEYS,
    MemoryGateway,
    catalog_table,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_instances import SigningStorage
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import InvalidRequest, Principal, SharedTable
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.hadoop_tokens import (
    FILE_TYPE,
    HadoopTokenBody,
    HadoopTokenEndpoint,
)
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.tables.snapshot import Snapshot
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.hadoop.identifier import Layout
from sluicegate.vending.hadoop.issue import TokenIssuer
from sluicegate.vending.hadoop.token import HadoopToken, from_url, to_url
from sluicegate.vending.hadoop.token_file import TokenFile

SHOWN = HadoopToken(b"identifier", "kind", "s3a://lake")
ADDRESS = "/delta-sharing/shares/sales/schemas/eu/tables/{}/hadoop-delegation-token"
MAX_BODY = 10_000


def test_an_empty_body_requests_a_session_token_in_a_writable_file() -> None:
    assert HadoopTokenBody.parse({}) == HadoopTokenBody(
        binding=None, layout=Layout.A, format="writable", renewer="", origin=None, tables=(), shown=()
    )


def test_all_members_of_a_body() -> None:
    body = {
        "binding": "role",
        "hadoopVersion": "3.5.0",
        "format": "protobuf",
        "renewer": "yarn",
        "origin": "job 7",
        "tables": ["sales.eu.orders", "a.b.c.d"],
        "tokens": [to_url(SHOWN)],
        "unknown": 1,
    }
    assert HadoopTokenBody.parse(body) == HadoopTokenBody(
        "role",
        Layout.B,
        "protobuf",
        "yarn",
        "job 7",
        (("sales", "eu", "orders"), ("a.b", "c", "d")),
        (SHOWN,),
    )


def test_empty_texts_of_a_token_are_allowed() -> None:
    parsed = HadoopTokenBody.parse({"renewer": "", "origin": ""})
    assert (parsed.renewer, parsed.origin) == ("", None)


@pytest.mark.parametrize("length", [1024, 1025])
@pytest.mark.parametrize("name", ["renewer", "origin"])
def test_texts_of_a_token_have_a_limit(name: str, length: int) -> None:
    body = {name: "x" * length}
    if length == 1024:
        assert getattr(HadoopTokenBody.parse(body), name) == "x" * length
    else:
        with pytest.raises(InvalidRequest, match=f"{name} must have at most 1024 characters"):
            HadoopTokenBody.parse(body)


@pytest.mark.parametrize("count", [100, 101])
@pytest.mark.parametrize(("name", "value"), [("tables", "a.b.c"), ("tokens", to_url(SHOWN))])
def test_lists_have_a_limit(name: str, value: str, count: int) -> None:
    body = {name: [value] * count}
    if count == 100:
        parsed = HadoopTokenBody.parse(body)
        assert len(parsed.tables) + len(parsed.shown) == count
    else:
        with pytest.raises(InvalidRequest, match=f"{name} must have at most 100 members"):
            HadoopTokenBody.parse(body)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"format": "avro"}, "format must be one of writable, protobuf"),
        ({"format": 1}, "format must be a string"),
        ({"hadoopVersion": "3"}, "Hadoop version"),
        ({"hadoopVersion": "2.10"}, "does not read these tokens"),
        ({"binding": ""}, "binding is empty"),
        ({"renewer": 1}, "renewer must be a string"),
        ({"tables": "a.b.c"}, "tables must be an array of strings"),
        ({"tables": [1]}, "tables must be an array of strings"),
        ({"tables": ["a.b"]}, "tables must be named like share.schema.table"),
        ({"tables": ["a..c"]}, "tables must be named like share.schema.table"),
        ({"tables": [".b.c"]}, "tables must be named like share.schema.table"),
        ({"tokens": ["not a token"]}, "not base64url text"),
        ({"tokens": {}}, "tokens must be an array of strings"),
    ],
)
def test_a_body_that_is_not_valid_is_rejected_by_name(body: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        HadoopTokenBody.parse(body)


DIRECTORY: dict[str, Any] = {"access_modes": ("dir",)}
TABLES = [
    shared_table("orders", **DIRECTORY),
    shared_table("customers", **DIRECTORY),
    shared_table("elsewhere", **DIRECTORY),
    shared_table("by_url"),
]


@pytest.fixture
def gateway() -> MemoryGateway:
    """Tables in the bucket `lake`, and one in the bucket `pond`."""
    buckets = {"orders": "lake", "customers": "lake", "elsewhere": "pond", "by_url": "lake"}
    return memory_gateway(
        *TABLES,
        format=MemoryFormat([snapshot(file("a"))]),
        sources=[
            catalog_table(name, format="delta", location=f"s3://{bucket}/{name}")
            for name, bucket in buckets.items()
        ],
        storage=SigningStorage("s3://lake/"),
        more_storage=[SigningStorage("s3://pond/")],
    )


async def ask(
    gateway: MemoryGateway, table: str = "orders", body: Any = None, **options: Any
) -> httpx.Response:
    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        opened = await gateway.open(shared, principal)
        return await gateway.reader.latest(opened.source, opened.directory)

    credentials = TableCredentials(
        gateway.resolver, DirectoryAccess(gateway.instances), latest, gateway.vending
    )
    endpoint = HadoopTokenEndpoint(
        gateway.resolver, credentials, TokenBindings(), TokenIssuer(gateway.vending, KEYS), MAX_BODY
    )
    route = endpoint.route(AUTHENTICATION)
    return await send([route], "POST", ADDRESS.format(table), body, **options)


async def test_json_describes_the_token_and_has_the_file(gateway: MemoryGateway) -> None:
    response = await ask(gateway)
    assert (response.status_code, response.headers["cache-control"]) == (200, "private, no-store")
    (token,) = response.json()["tokens"]
    assert (token["service"], token["bonded"]) == ("s3a://lake", False)
    assert token["kind"] == "S3ADelegationToken/Session"
    assert token["tables"] == [{"name": "sales.eu.orders", "location": "s3a://lake/orders"}]
    assert token["expirationTime"] == gateway.storage.vendor.answered[0].expires_at
    decoded = TokenFile.decode(base64.b64decode(response.json()["file"]))
    assert decoded.tokens == {"s3a://lake": from_url(token["token"])}
    (entry,) = gateway.ledger.written
    assert (entry.kind, entry.id) == ("hadoop-token", token["uuid"])


@pytest.mark.parametrize("format_", ["writable", "protobuf"])
async def test_the_file_alone_is_sent_if_the_client_accepts_it(
    gateway: MemoryGateway, format_: str
) -> None:
    response = await ask(gateway, body={"format": format_}, headers={"accept": f"{FILE_TYPE}, */*"})
    assert response.headers["content-type"] == FILE_TYPE
    assert response.headers["cache-control"] == "private, no-store"
    decoded = TokenFile.decode(response.content)
    assert (list(decoded.tokens), decoded.format) == (["s3a://lake"], format_)


async def test_one_token_for_each_bucket(gateway: MemoryGateway) -> None:
    body = {
        "tables": ["sales.eu.elsewhere", "sales.eu.customers", "sales.eu.ORDERS", "sales.eu.orders"]
    }
    tokens = (await ask(gateway, body=body)).json()["tokens"]
    named = {each["service"]: [table["name"] for table in each["tables"]] for each in tokens}
    assert named == {
        "s3a://lake": ["sales.eu.orders", "sales.eu.customers"],
        "s3a://pond": ["sales.eu.elsewhere"],
    }
    (scope, *_) = gateway.storage.vendor.scopes
    assert scope.locations == ("s3://lake/customers", "s3://lake/orders")


async def test_a_token_that_is_shown_is_returned_again(gateway: MemoryGateway) -> None:
    (first,) = (await ask(gateway)).json()["tokens"]
    (again,) = (await ask(gateway, body={"tokens": [first["token"]]})).json()["tokens"]
    assert (again["uuid"], again["token"], again["bonded"]) == (first["uuid"], first["token"], True)
    newer = {"tokens": [first["token"]], "hadoopVersion": "3.5"}
    (other,) = (await ask(gateway, body=newer)).json()["tokens"]
    assert (other["uuid"] == first["uuid"], other["bonded"]) == (False, False)


@pytest.mark.parametrize(
    ("table", "body", "status", "says"),
    [
        ("unknown", None, 404, "there is no table 'unknown'"),
        ("orders", {"tables": ["sales.eu.unknown"]}, 404, "there is no table 'unknown'"),
        ("orders", {"tables": ["other.eu.orders"]}, 404, "there is no share 'other'"),
        ("by_url", None, 400, "does not offer directory access"),
        ("orders", {"tables": ["sales.eu.by_url"]}, 400, "does not offer directory access"),
        ("orders", {"binding": "unknown"}, 400, "binding must be one of session, role, full"),
        ("orders", {"binding": "full"}, 403, "are not issued to this recipient"),
        ("orders", b"[]", 400, "the body must be a JSON object"),
        ("orders", b" " * (MAX_BODY + 1), 413, f"larger than {MAX_BODY} bytes"),
    ],
)
async def test_what_is_refused_vends_nothing(
    gateway: MemoryGateway, table: str, body: Any, status: int, says: str
) -> None:
    response = await ask(gateway, table, body)
    assert (response.status_code, says in response.json()["message"]) == (status, True), response.text
    assert gateway.storage.vendor.scopes == []


@pytest.mark.parametrize(("recipient", "status"), [(None, 401), ("rival", 404)])
async def test_only_recipients_with_the_grant_get_tokens(
    gateway: MemoryGateway, recipient: str | None, status: int
) -> None:
    assert (await ask(gateway, recipient=recipient)).status_code == status


async def test_a_binding_reaches_the_vendor(gateway: MemoryGateway) -> None:
    properties = {"hadoop_token_bindings": "session, role"}
    response = await ask(gateway, body={"binding": "role"}, properties=properties)
    assert response.json()["tokens"][0]["kind"] == "S3ADelegationToken/Role"
    assert [scope.binding for scope in gateway.storage.vendor.scopes] == ["role"]


async def test_tables_outside_of_s3_have_no_tokens() -> None:
    gateway = memory_gateway(
        shared_table(**DIRECTORY),
        format=MemoryFormat([snapshot(file("a"))]),
        sources=[catalog_table(format="delta")],
    )
    response = await ask(gateway)
    assert response.status_code == 400
    assert "S3A delegation tokens are only for S3" in response.json()["message"]
