"""Volumes and registered models of the catalog, and the credentials that it vends for them."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import (
    ListedAsset,
    NotFound,
    PermissionDenied,
    Principal,
    Scope,
    SluicegateError,
    StorageError,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityServer,
    model_info,
    version_info,
    volume_info,
)

from .conftest import Connected

SESSION = {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "ST"}
ROLE = {"aws_temp_credentials": SESSION, "expiration_time": 1_900_000_000_000}
MANUALS = "s3://lake/manuals"
CHURN = "s3://lake/churn"


@pytest.fixture(autouse=True)
def filled(unity: UnityServer) -> None:
    """A volume and a model with versions of each status."""
    volume = volume_info("main.eu.manuals", f"{MANUALS}/", comment="To read")
    unity.state.assets.volumes["main.eu.manuals"] = volume
    unity.state.assets.models["main.eu.churn"] = model_info("main.eu.churn", CHURN, comment="Who")
    statuses = ("READY", "FAILED_REGISTRATION", "PENDING_REGISTRATION", "READY")
    versions = [
        version_info("main.eu.churn", f"{CHURN}/v{number}", number, status=status)
        for number, status in enumerate(statuses, start=1)
    ]
    unity.state.assets.versions["main.eu.churn"] = versions[::-1]
    for info in versions:
        unity.state.credentials[info["id"]] = ROLE
    unity.state.credentials[volume["volume_id"]] = ROLE


def scope(location: str) -> Scope:
    return Scope((location,), 900, Principal("r1", "acme", "bearer"))


async def test_a_volume_is_found_by_its_name(unity: UnityServer, connected: Connected) -> None:
    found = await connected().load_asset("volume", "eu.manuals")
    assert found.location == MANUALS
    assert found.comment == "To read"
    assert found.id == unity.state.assets.volumes["main.eu.manuals"]["volume_id"]
    assert await connected(catalog=None).load_asset("volume", "main.eu.manuals") is not None


async def test_the_catalog_vends_for_a_volume(unity: UnityServer, connected: Connected) -> None:
    vendor = (await connected().load_asset("volume", "eu.manuals")).vendor
    assert vendor is not None
    given = await vendor.vend(scope(MANUALS))
    assert (given.location, given.kind, given.secret) == (MANUALS, "aws", SESSION)
    assert unity.requests[-1].json["operation"] == "READ_VOLUME"
    with pytest.raises(PermissionDenied, match="the volume's own directory"):
        await vendor.vend(scope("s3://lake/other"))


@pytest.mark.parametrize("location", [CHURN, None, ""])
async def test_a_model_has_the_root_of_its_versions_if_there_is_one(
    unity: UnityServer, connected: Connected, location: str | None
) -> None:
    unity.state.assets.models["main.eu.churn"]["storage_location"] = location
    found = await connected().load_asset("model", "eu.churn")
    assert (found.location, found.comment) == (location or None, "Who")


async def test_versions_are_listed_with_their_status_in_their_order(connected: Connected) -> None:
    found = await connected().model_versions("eu.churn")
    assert [(each.version, each.status) for each in found] == [
        (1, "READY"),
        (2, "FAILED_REGISTRATION"),
        (3, "PENDING_REGISTRATION"),
        (4, "READY"),
    ]
    assert found[0].location == f"{CHURN}/v1"
    assert (found[0].source, found[0].run_id, found[0].aliases) == ("dbfs:/runs/1", None, ())
    assert [each.vendor is not None for each in found] == [True, False, False, True]


async def test_all_pages_of_versions_are_read(unity: UnityServer, connected: Connected) -> None:
    unity.state.assets.versions["main.eu.churn"] = [
        version_info("main.eu.churn", f"file:///lake/{number}", number) for number in range(200)
    ]
    found = await connected().model_versions("eu.churn")
    assert [each.version for each in found] == list(range(200))
    assert unity.count("/versions") == 3  # a full last page has an empty next one


async def test_the_catalog_vends_for_a_version(unity: UnityServer, connected: Connected) -> None:
    first, *_, last = await connected().model_versions("eu.churn")
    assert first.vendor is not None
    assert last.vendor is not None
    assert first.vendor != last.vendor
    given = await last.vendor.vend(scope(f"{CHURN}/v4"))
    assert (given.location, given.secret) == (f"{CHURN}/v4", SESSION)
    assert unity.requests[-1].json == {
        "catalog_name": "main",
        "schema_name": "eu",
        "model_name": "churn",
        "version": 4,
        "operation": "READ_MODEL_VERSION",
    }
    with pytest.raises(PermissionDenied):
        await last.vendor.vend(scope(f"{CHURN}/v1"))


async def test_the_storage_vends_if_the_configuration_says_so(connected: Connected) -> None:
    catalog = connected(credentials="storage")
    assert (await catalog.load_asset("volume", "eu.manuals")).vendor is None
    assert {each.vendor for each in await catalog.model_versions("eu.churn")} == {None}


async def test_a_bucket_that_the_catalog_does_not_know_is_left_to_the_storage(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.credentials.clear()
    catalog = connected()
    assert (await catalog.load_asset("volume", "eu.manuals")).vendor is None
    assert {each.vendor for each in await catalog.model_versions("eu.churn")} == {None}


async def test_a_volume_that_is_dropped_has_no_credentials(
    unity: UnityServer, connected: Connected
) -> None:
    vendor = (await connected().load_asset("volume", "eu.manuals")).vendor
    assert vendor is not None
    await vendor.vend(scope(MANUALS))
    unity.state.assets.volumes.clear()
    with pytest.raises(NotFound, match="the volume no longer exists"):
        await vendor.vend(scope(MANUALS))


async def test_credentials_that_cannot_be_used_are_not_vended(
    unity: UnityServer, connected: Connected
) -> None:
    vendor = (await connected().load_asset("volume", "eu.manuals")).vendor
    assert vendor is not None
    await vendor.vend(scope(MANUALS))
    unity.instead = lambda asked: UnityReply.of({**ROLE, "url": "s3://lake"})
    with pytest.raises(StorageError, match="the volume's catalog vends no credentials"):
        await vendor.vend(scope(MANUALS))


@pytest.mark.parametrize("kind", ["volume", "model", "skill"])
@pytest.mark.parametrize("name", ["eu.none", "none.x", "eu", "a.b.c.d", "other.eu.manuals", ""])
async def test_what_the_catalog_does_not_have_is_not_found(
    connected: Connected, kind: Any, name: str
) -> None:
    with pytest.raises(NotFound):
        await connected().load_asset(kind, name)
    with pytest.raises(NotFound):
        await connected().model_versions(name)


async def test_a_missing_volume_is_requested_once(unity: UnityServer, connected: Connected) -> None:
    with pytest.raises(NotFound, match="has no volume"):
        await connected().load_asset("volume", "eu.none")
    assert unity.count("/volumes/main.eu.none") == 1


@pytest.mark.parametrize("forbidden", ["main", "main.eu", "main.eu.manuals"])
async def test_what_is_hidden_from_the_gateway_is_not_found(
    unity: UnityServer, connected: Connected, forbidden: str
) -> None:
    unity.state.forbidden.add(forbidden)
    with pytest.raises(NotFound):
        await connected().load_asset("volume", "eu.manuals")


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "other"},
        {"volume_id": None},
        {"volume_id": 7},
        {"storage_location": None},
        {"storage_location": "s3://lake/../x"},
        {"storage_location": "s3://lake/%2e%2e/x"},
        {"storage_location": "manuals"},
    ],
)
async def test_a_response_that_describes_no_volume_is_not_used(
    unity: UnityServer, connected: Connected, changed: dict[str, Any]
) -> None:
    unity.state.assets.volumes["main.eu.manuals"].update(changed)
    with pytest.raises(Unavailable):
        await connected().load_asset("volume", "eu.manuals")


@pytest.mark.parametrize(
    "changed",
    [
        {"model_name": "other"},
        {"version": "1"},
        {"version": True},
        {"version": -1},
        {"version": None},
        {"id": ""},
        {"storage_location": "s3://lake/../x"},
    ],
)
async def test_a_response_that_describes_no_version_is_not_used(
    unity: UnityServer, connected: Connected, changed: dict[str, Any]
) -> None:
    unity.state.assets.versions["main.eu.churn"][0].update(changed)
    with pytest.raises(Unavailable):
        await connected().model_versions("eu.churn")


@pytest.mark.parametrize(
    "changed", [{"storage_location": None}, {"status": "MODEL_VERSION_STATUS_UNKNOWN"}, {"status": 1}]
)
async def test_versions_that_cannot_be_described_are_left_out(
    unity: UnityServer, connected: Connected, changed: dict[str, Any]
) -> None:
    unity.state.assets.versions["main.eu.churn"][0].update(changed)
    found = await connected().model_versions("eu.churn")
    assert [each.version for each in found] == [1, 2, 3]


@pytest.mark.parametrize(
    "lie", [UnityReply.refusing("INTERNAL"), UnityReply(200, b"<html>"), UnityReply.no_route()]
)
async def test_a_server_that_fails_or_is_too_old_is_unavailable(
    unity: UnityServer, connected: Connected, lie: UnityReply
) -> None:
    unity.instead = lambda asked: lie
    for call in (
        connected().load_asset("volume", "eu.manuals"),
        connected().load_asset("model", "eu.churn"),
        connected().model_versions("eu.churn"),
    ):
        with pytest.raises(SluicegateError) as failed:
            await call
        assert isinstance(failed.value, Unavailable)
        assert "10.0.0.7" not in failed.value.message


async def test_listed_assets_are_described(unity: UnityServer, connected: Connected) -> None:
    volume, model = unity.state.assets.volumes, unity.state.assets.models
    [manuals] = await connected().listed_assets("volume", "eu")
    [churn] = await connected(catalog=None).listed_assets("model", "main.eu")
    made_at = volume["main.eu.manuals"]["created_at"]
    identity = volume["main.eu.manuals"]["volume_id"]
    assert manuals == ListedAsset("manuals", identity, made_at, MANUALS, "To read")
    assert churn == ListedAsset("churn", model["main.eu.churn"]["id"], made_at, CHURN, "Who")


@pytest.mark.parametrize("kind", ["volume", "model"])
@pytest.mark.parametrize(
    "changed",
    [
        {"name": "a/b"},
        {"name": "a.b"},
        {"name": "a b"},
        {"name": "x" * 256},
        {"name": ""},
        {"name": None},
        {"name": 7},
        {"name": ["manuals"]},
    ],
)
async def test_entries_without_a_usable_name_are_not_listed(
    unity: UnityServer, connected: Connected, kind: Any, changed: dict[str, Any]
) -> None:
    assets = unity.state.assets
    for info in (assets.volumes["main.eu.manuals"], assets.models["main.eu.churn"]):
        info.update(changed)
    assert await connected().listed_assets(kind, "eu") == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"volume_id": None}, {"id": None}),
        ({"volume_id": 7}, {"id": None}),
        ({"created_at": "today"}, {"created_at": None}),
        ({"created_at": True}, {"created_at": None}),
        ({"comment": {}}, {"comment": None}),
        ({"storage_location": "s3://lake/../x"}, {"location": None}),
        ({"storage_location": ["x"]}, {"location": None}),
    ],
)
async def test_members_of_the_wrong_type_are_left_out_of_a_listing(
    unity: UnityServer, connected: Connected, changed: dict[str, Any], expected: dict[str, Any]
) -> None:
    unity.state.assets.volumes["main.eu.manuals"].update(changed)
    [found] = await connected().listed_assets("volume", "eu")
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize("location", [None, ""])
async def test_volumes_without_a_location_are_not_listed(
    unity: UnityServer, connected: Connected, location: str | None
) -> None:
    unity.state.assets.volumes["main.eu.manuals"]["storage_location"] = location
    assert await connected().listed_assets("volume", "eu") == []


async def test_names_that_differ_only_in_case_are_all_listed(
    unity: UnityServer, connected: Connected
) -> None:
    for name in ("MANUALS", "Manuals"):
        full = f"main.eu.{name}"
        unity.state.assets.volumes[full] = volume_info(full, "s3://lake/x", 9)
    listed = await connected().listed_assets("volume", "eu")
    assert [each.name for each in listed] == ["MANUALS", "Manuals", "manuals"]


@pytest.mark.parametrize(
    "lie",
    [
        UnityReply.of({"volumes": {}, "registered_models": "x"}),
        UnityReply.of({"volumes": [], "registered_models": [], "next_page_token": 7}),
        UnityReply.of({"volumes": [], "registered_models": [], "next_page_token": "x" * 9000}),
        UnityReply.of({"volumes": [], "registered_models": [], "next_page_token": "again"}),
        UnityReply.refusing("INTERNAL"),
        UnityReply.no_route(),
        UnityReply(200, b"[]"),
    ],
)
@pytest.mark.parametrize("kind", ["volume", "model"])
async def test_a_listing_of_assets_that_is_wrong_is_an_outage(
    unity: UnityServer, connected: Connected, kind: Any, lie: UnityReply
) -> None:
    unity.instead = lambda asked: lie
    with pytest.raises(Unavailable):
        await connected().listed_assets(kind, "eu")


async def test_the_catalog_lists_no_skills(connected: Connected) -> None:
    with pytest.raises(UnsupportedOperation, match="the catalog cannot list skills"):
        await connected().asset_page("skill", "eu", None)
