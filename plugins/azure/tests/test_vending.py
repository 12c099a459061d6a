from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import anyio
import httpx
import obstore
import pytest
from azure.storage.blob import _shared_access_signature
from azure.storage.filedatalake import UserDelegationKey, generate_directory_sas
from obstore.exceptions import BaseError

from sluicegate.api import (
    PermissionDenied,
    Principal,
    Scope,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_azure.sas import VERSION
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.servers.azurite import Azurite

Connect = Callable[..., AzureStorage]
ACME = Principal("r-1", "acme", "test")


@pytest.fixture(scope="module")
def lake(server: Azurite) -> Azurite:
    server.put("sales/orders/part", b"part")
    return server


async def vended(
    storage: AzureStorage, *locations: str, lifetime: int = 600, binding: str | None = None
) -> TemporaryCredentials:
    return await storage.vend(Scope(locations, lifetime, ACME, binding))


async def request(
    server: Azurite, credentials: TemporaryCredentials, path: str, method: str = "GET", query: str = ""
) -> int:
    trust = ssl.create_default_context(cafile=server.certificate)
    url = f"{server.endpoint}/{server.container}{path}?{credentials.secret['sas_token']}{query}"
    headers = {"x-ms-blob-type": "BlockBlob"} if method == "PUT" else {}
    body = b"mine now" if method == "PUT" else None
    async with httpx.AsyncClient(verify=trust) as client:
        return (await client.request(method, url, content=body, headers=headers)).status_code


async def test_a_containers_signature_reads_and_lists_and_does_nothing_else(
    lake: Azurite, connect: Connect
) -> None:
    credentials = await vended(connect(vending="container"), f"{lake.prefix}sales/orders")

    assert await request(lake, credentials, "/sales/orders/part") == 200
    assert await request(lake, credentials, "", query="&restype=container&comp=list") == 200
    assert await request(lake, credentials, "/sales/orders/part", "PUT") == 403
    assert await request(lake, credentials, "/sales/orders/part", "DELETE") == 403
    assert await request(lake, credentials, "/sales/orders/new", "PUT") == 403
    assert await request(lake, credentials, "", "DELETE", "&restype=container") == 403


async def test_a_containers_signature_opens_no_other_container(lake: Azurite, connect: Connect) -> None:
    credentials = await vended(connect(vending="container"), f"{lake.prefix}sales/orders")
    other = f"{lake.endpoint}/other/part?{credentials.secret['sas_token']}"

    trust = ssl.create_default_context(cafile=lake.certificate)
    async with httpx.AsyncClient(verify=trust) as client:
        assert (await client.get(other)).status_code == 403


async def test_vended_credentials_end(lake: Azurite, connect: Connect) -> None:
    storage = connect(vending="container")
    credentials = await vended(storage, f"{lake.prefix}sales/orders", lifetime=2)
    assert credentials.expires_at is not None
    assert credentials.expires_at <= (time.time() + 2) * 1000
    assert await request(lake, credentials, "/sales/orders/part") == 200

    await anyio.sleep(credentials.expires_at / 1000 - time.time() + 1.5)

    assert await request(lake, credentials, "/sales/orders/part") == 403


async def test_the_gateway_reads_with_what_it_vended(lake: Azurite, connect: Connect) -> None:
    storage = connect(vending="container")
    credentials = await vended(storage, f"{lake.prefix}sales/orders")

    opened = await storage.open(f"{lake.prefix}sales/orders", credentials)

    read = await obstore.get_async(opened.store, opened.key("part"))
    assert bytes(await read.bytes_async()) == b"part"
    with pytest.raises(BaseError):
        await obstore.put_async(opened.store, opened.key("part"), b"mine now")


async def test_credentials_say_where_they_work(lake: Azurite, by_key: Connect) -> None:
    storage = by_key(vending="container", public_endpoint="https://files.example")
    wasbs = f"wasbs://lake@{lake.account}.blob.core.windows.net/sales/orders/"

    credentials = await vended(storage, wasbs)

    assert credentials.kind == "azure"
    assert credentials.location == f"{lake.prefix}sales/orders"
    assert credentials.connection == {"account": lake.account, "endpoint": "https://files.example"}
    assert credentials.secret.keys() == {"sas_token"}


async def test_a_directorys_signature_equals_the_data_lake_librarys(
    lake: Azurite, by_identity: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shared_access_signature, "X_MS_VERSION", VERSION)
    storage = by_identity(hierarchical=True)

    token = (await vended(storage, f"{lake.prefix}sales/eu/orders")).secret["sas_token"]

    fields = {name: values[0] for name, values in parse_qs(token).items()}
    key = await storage._key.get()
    assert key.delegation is not None
    theirs = UserDelegationKey()  # type: ignore[no-untyped-call]  # it is
    for name in ("oid", "tid", "start", "expiry", "service", "version"):
        setattr(theirs, f"signed_{name}", getattr(key.delegation, name))
    theirs.value = base64.b64encode(key.value).decode()
    assert (fields["sr"], fields["sdd"], fields["sp"]) == ("d", "3", "rle")
    assert token == generate_directory_sas(
        lake.account,
        lake.container,
        "sales/eu/orders",
        theirs,
        permission="rle",
        expiry=fields["se"],
        protocol="https",
    )


@pytest.mark.parametrize(
    ("directories", "signed"),
    [
        (["orders"], ("d", "1")),
        (["sales/eu/orders", "sales/eu/orders/date=1"], ("d", "3")),
        (["a/b/c", "a", "a/b"], ("d", "1")),
        (["orders", "orders"], ("d", "1")),
        ([""], ("c", None)),
        (["orders", ""], ("c", None)),
    ],
)
async def test_the_outermost_directory_is_signed(
    server: Azurite, by_key: Connect, directories: list[str], signed: tuple[str, str | None]
) -> None:
    locations = [f"{server.prefix}{directory}".rstrip("/") for directory in directories]

    token = (await vended(by_key(hierarchical=True), *locations)).secret["sas_token"]

    fields = {name: values[0] for name, values in parse_qs(token).items()}
    assert (fields["sr"], fields.get("sdd")) == signed


@pytest.mark.parametrize(
    "directories", [["orders", "visits"], ["orders", "orders2"], ["a/b", "a/c"], ["a/b", "a/b/c", "d"]]
)
async def test_several_directories_are_refused(
    server: Azurite, by_key: Connect, directories: list[str]
) -> None:
    locations = [f"{server.prefix}{directory}" for directory in directories]

    with pytest.raises(UnsupportedOperation, match="several directories"):
        await vended(by_key(hierarchical=True), *locations)

    assert (await vended(by_key(vending="container"), *locations)).secret


@pytest.mark.parametrize(
    ("settings", "vends"),
    [
        ({}, False),
        ({"hierarchical": True}, True),
        ({"vending": "container"}, True),
    ],
)
async def test_nothing_is_vended_unless_configured(
    server: Azurite, by_key: Connect, settings: dict[str, Any], vends: bool
) -> None:
    storage = by_key(**settings)

    assert storage.vends(f"{server.prefix}orders") is vends
    if not vends:
        with pytest.raises(UnsupportedOperation, match="no temporary credentials"):
            await vended(storage, f"{server.prefix}orders")


async def test_credentials_for_what_lies_outside_are_refused(server: Azurite, by_key: Connect) -> None:
    storage = by_key(prefix=f"{server.prefix}sales", vending="container")

    with pytest.raises(PermissionDenied):
        await vended(storage, f"{server.prefix}sales/orders", f"{server.prefix}salesroom")


@pytest.mark.parametrize("binding", ["role", "session", "full"])
async def test_there_is_one_way_to_make_them(server: Azurite, by_key: Connect, binding: str) -> None:
    with pytest.raises(UnsupportedOperation):
        await vended(by_key(hierarchical=True), f"{server.prefix}orders", binding=binding)


async def test_an_administrator_learns_how_to_end_signatures(
    server: Azurite, by_key: Connect, by_identity: Connect
) -> None:
    of_identity = await by_identity(hierarchical=True).end_sessions(ACME, 0)
    of_key = await by_key(hierarchical=True).end_sessions(ACME, 0)

    assert not of_identity.applied
    assert (
        f"az storage account revoke-delegation-keys --name {server.account} "
        in of_identity.instructions
    )
    assert not of_key.applied
    assert f"az storage account keys renew --account-name {server.account} " in of_key.instructions
    assert server.account_key not in of_key.instructions
