"""Schedules over the Admin API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema_rs
import pytest
from admin.conftest import Site
from support.process.installed import installed_site
from support.tasks.compactor import COMPACTOR

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.delegation.schedules.firings import Firings

SCHEDULES = {
    "nightly": {
        "cron": "30 2 * * *",
        "time_zone": "Europe/Berlin",
        "operation": "TABLE_COMPACTION",
        "catalog": "lake",
        "tables": ["sales.orders"],
    },
    "off": {
        "cron": "0 4 * * 0",
        "operation": "TABLE_VACUUM",
        "catalog": "lake",
        "tables": ["sales.orders"],
        "enabled": False,
    },
}


@pytest.fixture
async def scheduled(database_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway with schedules."""
    section = {"executors": [{"type": "compactor"}], "schedules": SCHEDULES}
    settings = Settings.model_validate(
        {"database": database_url, "signing_key": "k" * 32, "admin": {}, "delegation": section}
    )
    with installed_site(tmp_path) as installed:
        installed.install("compactor", COMPACTOR)
        async with Gateway.running(settings) as gateway:
            yield Site(gateway)


async def test_schedules_are_listed_with_their_next_firings(scheduled: Site) -> None:
    first = (await scheduled.ask("GET", "/schedules?maxResults=1", role="viewer")).json
    more = f"&pageToken={first['nextPageToken']}"
    second = (await scheduled.ask("GET", f"/schedules?maxResults=1{more}", role="viewer")).json
    [nightly], [off] = first["items"], second["items"]
    assert (nightly["name"], nightly["realm"], nightly["last_firing"]) == (
        "nightly",
        "default-realm",
        None,
    )
    assert nightly["next_firing_at"][11:] in ("00:30:00.000Z", "01:30:00.000Z")
    assert (off["name"], off["enabled"], off["next_firing_at"]) == ("off", False, None)


async def test_a_paused_schedule_says_who_paused_it_and_can_be_resumed(scheduled: Site) -> None:
    for _ in range(2):
        paused = (await scheduled.ask("POST", "/schedules/nightly/pause", role="admin")).json
        assert (paused["paused_by"], paused["next_firing_at"]) == ("admin", None)
    resumed = (await scheduled.ask("POST", "/schedules/nightly/resume", role="admin")).json
    assert (resumed["paused_at"], resumed["paused_by"]) == (None, None)
    assert resumed["next_firing_at"] is not None
    listed = (await scheduled.ask("GET", "/audit?maxResults=100")).json["items"]
    records = [(each["action"], each["actor"], each["changes"]) for each in listed]
    assert ("pauseSchedule", "admin", ["~ schedule nightly: paused"]) in records
    assert ("resumeSchedule", "admin", ["~ schedule nightly: resumed"]) in records


async def test_a_schedule_that_is_run_waits_for_a_service(scheduled: Site) -> None:
    ran = await scheduled.ask("POST", "/schedules/off/run", role="admin")
    assert (ran.status, ran.json["status"], ran.json["requested_by"]) == (201, "SUBMITTING", "admin")
    again = await scheduled.ask("POST", "/schedules/off/run", role="admin")
    assert (again.status, again.json["errorCode"]) == (409, "SCHEDULE_RUNNING")
    firings = Firings(scheduled.gateway.parts.store)
    claimed = await firings.claim()
    assert claimed is not None
    await firings.end(claimed, "FAILED", "the catalog is down")
    shown = (await scheduled.ask("GET", "/schedules/off", role="viewer")).json
    [firing] = shown["firings"]
    assert firing == shown["last_firing"]
    assert (firing["firing_id"], firing["status"]) == (ran.json["firing_id"], "FAILED")
    assert (firing["message"], firing["tasks"]) == ("the catalog is down", {})


async def test_responses_are_as_described(scheduled: Site) -> None:
    components = (await scheduled.ask("GET", "/openapi.json", role=None)).json["components"]
    for method, path, schema in (
        ("GET", "/schedules", "Schedules"),
        ("POST", "/schedules/nightly/run", "Firing"),
        ("POST", "/schedules/nightly/pause", "Schedule"),
        ("GET", "/schedules/nightly", "Schedule"),
    ):
        described = {"$ref": f"#/components/schemas/{schema}", "components": components}
        answer = (await scheduled.ask(method, path)).json
        jsonschema_rs.validator_for(described, validate_formats=True).validate(answer)


@pytest.mark.parametrize("action", ["pause", "resume", "run"])
async def test_schedules_are_changed_only_by_administrators_of_all_shares(
    scheduled: Site, action: str
) -> None:
    path = f"/schedules/nightly/{action}"
    assert (await scheduled.ask("POST", path, role="viewer")).status == 403
    assert (await scheduled.ask("POST", path, role="admin", shares=("sales",))).status == 403
    missing = await scheduled.ask("POST", f"/schedules/nightli/{action}")
    assert (missing.status, "did you mean 'nightly'?" in missing.json["message"]) == (404, True)
