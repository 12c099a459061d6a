"""Protocol and properties agree in every answer in delta format, for every feature of tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.clients.change_answers import feed, stream
from support.clients.connector_log import check_timestamps, range_log, snapshot_log
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.delta_features import BY_NAME, CATALOGS, FEATURES, active, closure, enabling, naming
from support.tables.deltalog import Action, add, protocol

EVERY = ",".join(feature.name for feature in FEATURES if feature.reader)
LISTS = {
    "nothing": "",
    "a client's": "deletionVectors,columnMapping,timestampNtz",
    "everything": EVERY,
}
SERVED = [feature.name for feature in FEATURES if feature.name not in CATALOGS]
# Nobody is answered these: commits of a log that is made of lines have no timestamps of their own.
NEVER = ("inCommitTimestamp", "coordinatedCommits-preview")


def delta(features: str) -> dict[str, str]:
    return {"delta-sharing-capabilities": f"responseformat=delta;readerfeatures={features}"}


def answers(lake: SharedLake, table: LakeTable, features: str) -> Iterator[tuple[str, httpx.Response]]:
    headers = delta(features)
    client, path = lake.client(), table.path()
    yield "snapshot", client.get(f"{path}/metadata", headers=headers)
    yield "snapshot", client.post(f"{path}/query", json={}, headers=headers)
    for historical in (False, True):
        asked: dict[str, Any] = {"startingVersion": 0, "headers": headers}
        yield "range", stream(lake, table, **asked, includeHistoricalProtocol=historical)
        yield "latest", feed(lake, table, **asked, includeHistoricalProtocol=historical)
        yield (
            "range",
            feed(
                lake,
                table,
                **asked,
                includeHistoricalProtocol=historical,
                includeHistoricalMetadata=True,
            ),
        )


def check(kind: str, response: httpx.Response) -> dict[str, Any]:
    """Build the connector's log; the answered protocol and metadata."""
    assert response.status_code == 200, response.text
    lines = response.text.splitlines()
    if kind == "latest":  # the schema of the latest version, under the last protocol of the range
        protocols = [line for line in lines if '"protocol"' in line]
        lines = [protocols[-1], lines[1]]
    log = range_log(lines) if kind == "range" else snapshot_log(lines)
    check_timestamps(log)
    head = [json.loads(line) for line in lines[:2]]
    return {
        **head[0]["protocol"]["deltaProtocol"],
        **head[1]["metaData"]["deltaMetadata"],
    }


def with_feed(metadata: Action) -> Action:
    metadata["metaData"]["configuration"]["delta.enableChangeDataFeed"] = "true"
    return metadata


def commit_table(table: LakeTable, declared: Action, metadata: Action) -> None:
    """Versions that name a feature from the second on, enabled from the third on."""
    table.folder.commit(0, naming("changeDataFeed"), with_feed(enabling()), add("a"))
    table.folder.commit(1, declared, add("b"))
    table.folder.commit(2, with_feed(metadata), add("c"))


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("name", SERVED)
def test_a_feature_that_is_enabled_is_named(
    lake: SharedLake, table: LakeTable, name: str, listed: str
) -> None:
    commit_table(table, naming(name, "changeDataFeed"), enabling(name))
    needed = {
        each
        for each in closure(name)
        if each in ("columnMapping", "timestampNtz", "geospatial", "variantType")
    }
    able = needed <= set(LISTS[listed].split(","))
    for kind, response in answers(lake, table, LISTS[listed]):
        if not able:
            assert response.status_code == 400, response.text
            continue
        answered = check(kind, response)
        if kind != "snapshot" or name in NEVER:
            continue
        shown = {feature.name for feature in active(answered)}
        if listed == "everything":
            assert name in answered["writerFeatures"]
            assert {each.name for each in active(enabling(name)["metaData"])} <= shown
        elif BY_NAME[name].reader and name not in LISTS[listed].split(","):
            assert name not in answered["writerFeatures"]
            assert name not in shown


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("version", [1, 7])
@pytest.mark.parametrize("name", [name for name in SERVED if BY_NAME[name].properties])
def test_a_property_whose_feature_the_table_does_not_name_hinders_nobody(
    lake: SharedLake, table: LakeTable, name: str, version: int, listed: str
) -> None:
    declared = naming("changeDataFeed") if version == 7 else protocol()
    metadata = with_feed(enabling())
    metadata["metaData"]["configuration"] |= BY_NAME[name].properties
    metadata["metaData"]["configuration"][f"delta.feature.{name.lower()}"] = "supported"
    table.folder.commit(0, declared, metadata, add("a"))
    for kind, response in answers(lake, table, LISTS[listed]):
        answered = check(kind, response)
        named = answered.get("writerFeatures", [])
        kept = f"delta.feature.{name.lower()}" in answered["configuration"]
        assert kept == (name in named or (version == 1 and (BY_NAME[name].legacy or 9) <= 4))


@pytest.mark.parametrize("name", ["invariants", "generatedColumns", "identityColumns"])
@pytest.mark.parametrize("version", [1, 7])
def test_columns_that_bind_writers_are_named_though_the_table_does_not(
    lake: SharedLake, table: LakeTable, name: str, version: int
) -> None:
    declared = naming("changeDataFeed") if version == 7 else protocol()
    table.folder.commit(0, declared, with_feed(enabling(name)), add("a"))
    for kind, response in answers(lake, table, ""):
        check(kind, response)


def test_properties_that_enable_nothing_are_answered_as_they_are(
    lake: SharedLake, table: LakeTable
) -> None:
    off = dict.fromkeys(("delta.appendOnly", "delta.enableDeletionVectors"), "false")
    off |= {"delta.checkpointPolicy": "classic", "delta.columnMapping.mode": "none"}
    kept = {**off, "delta.logRetentionDuration": "interval 30 days", "owner": "sales"}
    metadata = with_feed(enabling())
    metadata["metaData"]["configuration"] |= kept
    table.folder.commit(0, protocol(), metadata, add("a"))
    for kind, response in answers(lake, table, ""):
        answered = check(kind, response)["configuration"]
        assert {name: answered.get(name) for name in kept} == kept
