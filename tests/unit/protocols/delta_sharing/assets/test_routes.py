"""The endpoints of assets: pages, bodies, methods, and policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_assets import (
    CHURN,
    MANUALS,
    MAX_BODY,
    MemoryAssets,
    memory_assets,
)
from support.gateways.memory_client import AUTHENTICATION, send
from support.gateways.memory_gateway import KEYS
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    CatalogAsset,
    Policy,
    PolicyAction,
    Principal,
    SharedSchemaSource,
    SharedTable,
)
from sluicegate.protocols.delta_sharing.assets import routes
from sluicegate.signing.opaque_tokens import TokenSigner

SHARE = "/delta-sharing/shares/sales"
SCHEMA = f"{SHARE}/schemas/eu"
VEND = f"{SCHEMA}/volumes/manuals/temporary-volume-credentials"
NAMES = ("a", "B", "c", "D")


class OnlyVowels(Policy):
    """Hides names without a vowel, and denies credentials of all others."""

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        return frozenset(each for each in tables if action == "read" and each.name in "aeiou")


def volumes(policy: Policy | None = None) -> MemoryAssets:
    """Four volumes of one directory."""
    named = (replace(MANUALS, id=f"v-{name}", name=name) for name in NAMES)
    return memory_assets(*named, CHURN, policy=policy)


async def listed(gateway: MemoryAssets, path: str) -> dict[str, Any]:
    answer = await send(gateway.routes(), "GET", path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_each_kind_has_its_routes() -> None:
    gateway = volumes()
    endpoints = routes.AssetEndpoints(
        authentication=AUTHENTICATION,
        grants=gateway.grants,
        resolver=gateway.resolver,
        descriptions=gateway.descriptions,
        credentials=gateway.credentials,
        tokens=TokenSigner(KEYS, 60),
        max_body=MAX_BODY,
    )
    paths = {route.path.removeprefix("/delta-sharing/shares/{share}") for route in endpoints.routes()}
    schema = "/schemas/{schema}"
    model = f"{schema}/models/{{model}}"
    assert paths == {
        *(f"/all-{kind}s" for kind in ("volume", "model", "skill")),
        *(f"{schema}/{kind}s" for kind in ("volume", "model", "skill")),
        *(f"{schema}/{kind}s/{{{kind}}}" for kind in ("volume", "skill")),
        f"{schema}/volumes/{{volume}}/temporary-volume-credentials",
        f"{schema}/skills/{{skill}}/temporary-skill-credentials",
        model,
        f"{model}/versions",
        f"{model}/versions/{{version}}",
        f"{model}/versions/{{version}}/temporary-model-credentials",
        f"{model}/aliases/{{alias}}",
    }


@pytest.mark.parametrize("path", [f"{SCHEMA}/volumes", f"{SHARE}/all-volumes"])
async def test_pages_contain_every_asset_once(path: str) -> None:
    gateway, found, token = volumes(), list[str](), ""
    while True:
        body = await listed(gateway, f"{path}?maxResults=3{token}")
        found += [each["name"] for each in body["items"]]
        if "nextPageToken" not in body:
            break
        token = f"&pageToken={body['nextPageToken']}"
    assert found == list(NAMES)


async def test_versions_are_paged_and_only_ready_ones_are_listed() -> None:
    gateway, path = memory_assets(), f"{SCHEMA}/models/churn/versions"
    first = await listed(gateway, f"{path}?maxResults=1")
    second = await listed(gateway, f"{path}?pageToken={first['nextPageToken']}")
    found = [*first["items"], *second["items"]]
    assert [each["version"] for each in found] == [1, 2]
    assert "nextPageToken" not in second


async def test_a_version_that_is_not_ready_is_shown_but_not_opened() -> None:
    gateway, version = memory_assets(), f"{SCHEMA}/models/churn/versions/3"
    assert (await listed(gateway, version))["status"] == "PENDING_REGISTRATION"
    answer = await send(gateway.routes(), "POST", f"{version}/temporary-model-credentials")
    assert answer.status_code == 400
    assert "PENDING_REGISTRATION" in answer.json()["message"]


@pytest.mark.parametrize("query", ["maxResults=-1", "maxResults=x", "pageToken=x", "pageToken="])
async def test_malformed_pages_are_refused(query: str) -> None:
    for path in (f"{SCHEMA}/volumes", f"{SHARE}/all-models", f"{SCHEMA}/models/churn/versions"):
        answer = await send(memory_assets().routes(), "GET", f"{path}?{query}")
        assert answer.status_code == 400


async def test_a_token_of_another_models_versions_is_refused() -> None:
    other = replace(CHURN, id="m2", name="other")
    gateway = memory_assets(CHURN, other)
    first = await listed(gateway, f"{SCHEMA}/models/churn/versions?maxResults=1")
    path = f"{SCHEMA}/models/other/versions?pageToken={first['nextPageToken']}"
    assert (await send(gateway.routes(), "GET", path)).status_code == 400


async def test_policies_decide_about_assets() -> None:
    gateway = volumes(OnlyVowels())
    for path in (f"{SCHEMA}/volumes", f"{SHARE}/all-volumes"):
        assert [each["name"] for each in (await listed(gateway, path))["items"]] == ["a"]
    assert (await send(gateway.routes(), "GET", f"{SCHEMA}/volumes/c")).status_code == 404
    assert (await send(gateway.routes(), "GET", f"{SCHEMA}/models/churn/versions")).status_code == 404
    vend = f"{SCHEMA}/volumes/{{}}/temporary-volume-credentials"
    assert (await send(gateway.routes(), "POST", vend.format("a"))).status_code == 403
    assert (await send(gateway.routes(), "POST", vend.format("c"))).status_code == 404
    assert gateway.events == []


@pytest.mark.parametrize("body", [None, b"", b"{}", {"location": 7, "unknown": []}])
async def test_the_body_can_be_empty(body: Any) -> None:
    answer = await send(memory_assets().routes(), "POST", VEND, body)
    assert answer.status_code == 200, answer.text
    credentials = answer.json()["credentials"]
    assert credentials.keys() == {"location", "awsTempCredentials", "expirationTime"}
    assert "no-store" in answer.headers["cache-control"]


@pytest.mark.parametrize(("body", "status"), [(b"[]", 400), (b"{", 400), (b" " * (MAX_BODY + 1), 413)])
async def test_a_body_that_is_not_an_object_is_refused(body: bytes, status: int) -> None:
    assert (await send(memory_assets().routes(), "POST", VEND, body)).status_code == status


@pytest.mark.parametrize(
    ("method", "path"), [("GET", f"{SCHEMA}/volumes"), ("GET", f"{SHARE}/all-skills"), ("POST", VEND)]
)
async def test_strangers_and_other_recipients_get_nothing(method: str, path: str) -> None:
    served = memory_assets().routes()
    assert (await send(served, method, path, recipient=None)).status_code == 401
    assert (await send(served, method, path, recipient="rival")).status_code == 404


def entire(policy: Policy | None = None) -> MemoryAssets:
    """A schema of a catalog with four more volumes, of which one is in no configured storage."""
    locations = {name: f"{LAKE}/{name}" for name in NAMES} | {"elsewhere": "s3://elsewhere/x"}
    return memory_assets(
        catalog={("volume", f"eu.{name}"): CatalogAsset(name, at) for name, at in locations.items()},
        policy=policy,
        source=SharedSchemaSource("main", "eu", kinds=("volumes", "models", "skills")),
    )


@pytest.mark.parametrize("path", [f"{SCHEMA}/volumes", f"{SHARE}/all-volumes"])
async def test_pages_of_an_entire_schema_contain_every_asset_once(path: str) -> None:
    gateway, found, token = entire(), list[str](), ""
    while True:
        body = await listed(gateway, f"{path}?maxResults=2{token}")
        found += [each["name"] for each in body["items"]]
        if "nextPageToken" not in body:
            break
        token = f"&pageToken={body['nextPageToken']}"
    assert found == ["a", "B", "c", "D", "manuals"]


@pytest.mark.parametrize("kind", ["volumes", "models", "skills"])
async def test_an_asset_of_an_entire_schema_is_listed_as_it_is_found(kind: str) -> None:
    gateway = entire()
    items = (await listed(gateway, f"{SCHEMA}/{kind}"))["items"]
    assert items == (await listed(gateway, f"{SHARE}/all-{kind}"))["items"]
    assert bool(items) == (kind != "skills")  # its name is not that of its directory
    for item in items:
        assert await listed(gateway, f"{SCHEMA}/{kind}/{item['name'].upper()}") == item


async def test_listing_an_entire_schema_looks_up_no_single_asset() -> None:
    gateway = entire()
    before = await listed(gateway, f"{SCHEMA}/volumes")
    catalog = gateway.instances.catalog("main")
    catalog.load_asset = None  # type: ignore[assignment, method-assign]
    assert await listed(gateway, f"{SCHEMA}/volumes") == before


async def test_policies_decide_about_assets_of_an_entire_schema() -> None:
    gateway = entire(OnlyVowels())
    for path in (f"{SCHEMA}/volumes", f"{SHARE}/all-volumes"):
        assert [each["name"] for each in (await listed(gateway, path))["items"]] == ["a"]
    vend = f"{SCHEMA}/volumes/{{}}/temporary-volume-credentials"
    assert (await send(gateway.routes(), "GET", f"{SCHEMA}/volumes/c")).status_code == 404
    assert (await send(gateway.routes(), "POST", vend.format("a"))).status_code == 403
    assert (await send(gateway.routes(), "POST", vend.format("c"))).status_code == 404
    assert gateway.events == []


async def test_credentials_of_an_entire_schema_are_in_the_ledger() -> None:
    gateway = entire()
    for path in ("volumes/A/temporary-volume", "models/churn/versions/1/temporary-model"):
        answer = await send(gateway.routes(), "POST", f"{SCHEMA}/{path}-credentials")
        assert answer.status_code == 200, answer.text
    written = [(each.asset, each.table_name, each.locations) for each in gateway.ledger.written]
    assert written == [
        ("volume", "sales.eu.a", (f"{LAKE}/a",)),
        ("model", "sales.eu.churn", (f"{LAKE}/churn/1",)),
    ]
