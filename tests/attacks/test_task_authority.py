"""A client of one realm reaches for what is another one's: its catalogs, its directories, its tasks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.servers.delegation import (
    API,
    CATALOG,
    PURGE,
    SECRET,
    Desk,
    FolderPurge,
    RunningClock,
    base_of,
    body,
    make_table,
    payload,
    running_service,
)

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store

VICTIM, ATTACKER = "prod", "stage_a"
CLIENTS = {
    "polaris": {"secret": SECRET, "realms": [ATTACKER]},
    "victim": {"secret": "another one", "realms": [VICTIM]},
}
EVERYTHING = {
    VICTIM: {"catalogs": [CATALOG], "locations": ["s3://lake/prod/"], "operations": [PURGE]},
    ATTACKER: {"catalogs": ["stage_catalog"], "locations": ["s3://lake/a/"], "operations": [PURGE]},
}
METADATA = {"table-uuid": "u", "format-version": 2}
FILES = 4  # of a table, with its metadata


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    yield Desk(store, DelegationSettings(), RunningClock())
    await store.aclose()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    make_table(tmp_path / "lake", "T1", FILES - 1)
    return tmp_path / "lake"


def at(location: str, **further: Any) -> dict[str, Any]:
    """The metadata of a table at a location."""
    return {"metadata": {"location": location, **METADATA, **further}}


def named(catalog: str, **parameters: Any) -> dict[str, Any]:
    """A purge that the attacker submits."""
    document = body(realm=ATTACKER, **parameters)
    document["operation_parameters"]["table_identity"]["catalog_name"] = catalog
    return document


REACHES: dict[str, tuple[dict[str, Any], str]] = {
    "another realm's catalog": (
        named(CATALOG, properties={"drop_catalog_entry": "true"}),
        "the catalog 'prod_catalog'; .* delegation.realms.stage_a.catalogs",
    ),
    "another realm's catalog, with a table of its own": (
        named(CATALOG, **at("s3://lake/a/t")),
        "the catalog 'prod_catalog'",
    ),
    "a catalog that nobody knows": (named("nobody"), "the catalog 'nobody'"),
    "the location of metadata": (
        named("nobody", **at("s3://lake/prod/t")),
        r"'s3://lake/prod/t' \(operation_parameters.metadata.location\); .*stage_a.locations",
    ),
    "a neighbour that begins the same": (named("nobody", **at("s3://lake/ab")), "s3://lake/ab"),
    "a parent": (named("nobody", **at("s3://lake/a/../prod")), "location"),
    "an encoded parent": (named("nobody", **at("s3://lake/a/%2e%2E/prod")), "location"),
    "a parent that was encoded twice": (named("nobody", **at("s3://lake/a/%252e%252e/p")), "location"),
    "a parent before a query": (named("nobody", **at("s3://lake/a/..?x")), "location"),
    "the machine of the worker": (named("nobody", **at("file:///lake/a/t")), "file:///lake/a/t"),
    "no scheme": (named("nobody", **at("/lake/a/t")), "location"),
    "the metadata file": (
        named("stage_catalog", metadata_location="s3://lake/prod/m.json"),
        r"\(operation_parameters.metadata_location\)",
    ),
    "the property": (
        named("stage_catalog", properties={"location": "s3://lake/prod"}),
        r"\(operation_parameters.properties.location\)",
    ),
    "a manifest list": (
        named("nobody", **at("s3://lake/a/t", snapshots=[{"manifest-list": "s3://lake/prod/l"}])),
        r"metadata.snapshots.0.manifest-list",
    ),
    "where files are written": (
        named("nobody", **at("s3://lake/a/t", properties={"write.data.path": "s3://lake/prod/"})),
        r"metadata.properties.write.data.path",
    ),
    "a storage credential": (
        named("stage_catalog", **{"storage-credentials": [{"prefix": "s3://lake/", "config": {}}]}),
        r"storage-credentials.0.prefix",
    ),
    "an operation": (named("stage_catalog"), "the operation 'TABLE_PURGE'; .*stage_a.operations"),
}


@pytest.mark.parametrize("reach", REACHES)
async def test_what_a_realm_is_not_granted_is_refused_at_submission(
    reach: str, desk: Desk, lake: Path
) -> None:
    document, said = REACHES[reach]
    granted = EVERYTHING[ATTACKER] | ({"operations": []} if reach == "an operation" else {})
    executor = FolderPurge(lake)
    realms = EVERYTHING | {ATTACKER: granted}
    async with running_service(desk, executor, clients=CLIENTS, realms=realms) as service:
        for path in ("", "/execute/synchronous"):
            answer = await service.post(path, document)
            assert (answer.status_code, answer.json()["error_code"]) == (403, "NOT_GRANTED")
            assert re.search(said, answer.json()["message"])
        assert (await service.get("")).json() == {"tasks": []}
    assert executor.attempts == []
    assert len(list((lake / "T1").iterdir())) == FILES


@pytest.mark.parametrize(
    "document",
    [
        named("stage_catalog"),
        named("stage_catalog", **at("s3a://lake/a/t", properties={"location": "Berlin"})),
        named("nobody", **at("s3://lake/a")),
    ],
)
async def test_what_a_realm_is_granted_is_done(
    document: dict[str, Any], desk: Desk, lake: Path
) -> None:
    async with running_service(desk, FolderPurge(lake), clients=CLIENTS, realms=EVERYTHING) as service:
        answer = await service.post("/execute/synchronous", document)
    assert (answer.status_code, answer.json()["execution_result"]["files_deleted"]) == (200, 3)


async def test_a_worker_checks_what_was_granted_when_the_task_was_submitted(
    desk: Desk, lake: Path
) -> None:
    executor = FolderPurge(lake)
    task = await desk.queue.submit(payload(realm=ATTACKER), "polaris")
    async with running_service(desk, executor, clients=CLIENTS, realms=EVERYTHING):
        ended = await desk.ended(task.id)
    assert (ended.status, ended.error_code, ended.attempt_count) == ("FAILURE", "NOT_GRANTED", 1)
    assert "the catalog 'prod_catalog'" in ended.result_summary
    assert executor.attempts == []
    assert len(list((lake / "T1").iterdir())) == FILES


async def test_a_realm_that_is_not_configured_any_more_is_granted_nothing(
    desk: Desk, lake: Path
) -> None:
    base = base_of(desk, FolderPurge(lake), clients=CLIENTS, realms=EVERYTHING)
    assert not base.grants.of("another").allows_operation(PURGE)
    alone = base_of(desk, FolderPurge(lake), clients={}, realms={}, realm="one")
    assert alone.grants.of("one").allows_operation(PURGE)
    assert not alone.grants.of("another").allows_operation(PURGE)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["?after={}", "?after={}&realm=stage_a", "/{}", "/{}/history", "/{}/cancel", "/{}/retry"]
)
async def test_a_task_of_another_realm_is_like_one_that_never_was(
    method: str, path: str, desk: Desk, lake: Path
) -> None:
    foreign = await desk.queue.submit(payload(realm=VICTIM), "victim")
    never = str(uuid4())
    async with running_service(
        desk, FolderPurge(lake), with_worker=False, clients=CLIENTS, realms=EVERYTHING
    ) as service:
        url = f"{API}/v1/tasks{path}"
        answers = [await service.http.request(method, url.format(each)) for each in (foreign.id, never)]
    of_foreign, of_never = answers
    assert of_foreign.status_code == of_never.status_code >= 400
    assert of_foreign.text.replace(foreign.id, never) == of_never.text
    assert (await desk.queue.get(foreign.id)).status == "SUBMITTED"
