"""The Iceberg catalog plans scans of tables with a snapshot index as it does from their logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog
from support.gateways.indexed_lake import (
    INDEXED,
    build_index,
    copied_table,
    damage_index,
    damage_log,
    indexed_lake,
    indexed_pair,
)
from support.gateways.shared_lake import ACME, SHARE, LakeTable, SharedLake
from support.tables.deltalog import add, protocol
from support.tables.random_log import partitioned

DE = {"type": "eq", "term": "country", "value": "DE"}
ABOVE = {"type": "gt", "term": "id", "value": 40}
BODIES: tuple[Mapping[str, Any], ...] = (
    {},
    {"filter": ABOVE},
    {"filter": DE, "stats-fields": ["id"]},
    {"filter": {"type": "or", "left": {"type": "is-null", "term": "country"}, "right": ABOVE}},
    {"filter": {"type": "lt", "term": "id", "value": 0}},
)
OLD_PYICEBERG = {"User-Agent": "PyIceberg/0.12.0"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    with indexed_lake(tmp_path_factory.mktemp("indexed")) as running:
        yield running


@pytest.fixture(scope="module")
def token(lake: SharedLake) -> str:
    found: str = json.loads(lake.profiles[ACME].read_text())["bearerToken"]
    return found


@pytest.fixture
def client(lake: SharedLake, token: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {token}", "X-Iceberg-Access-Delegation": "remote-signing"}
    base = f"{lake.gateway.address}/iceberg/v1/shares/{SHARE}/namespaces"
    with httpx.Client(base_url=base, headers=headers, timeout=60) as made:
        yield made


def load(client: httpx.Client, table: LakeTable, schema: str) -> dict[str, Any]:
    """The metadata of a loaded table."""
    answer = client.get(f"/{schema}/tables/{table.name}").raise_for_status()
    found: dict[str, Any] = answer.json()["metadata"]
    return found


def plan(
    client: httpx.Client,
    table: LakeTable,
    schema: str,
    body: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> Any:
    """The tasks of a plan with their deletion vectors, without their paths' proofs; or the error."""
    answer = client.post(f"/{schema}/tables/{table.name}/plan", json=body, headers=headers)
    content = answer.json()
    if answer.status_code != 200:
        return answer.status_code, content["error"]["message"].replace(table.name, "table")
    assert content["plan-tasks"] == []
    tasks = []
    for task in content["file-scan-tasks"]:
        at = task.pop("delete-file-references", [])
        deleted = [content["delete-files"][each] for each in at]
        tasks.append(json.dumps(_without_proofs([task, deleted]), sort_keys=True))
    return sorted(tasks)


def _without_proofs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_proofs(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_proofs(each) for each in value]
    return value.split("/", 5)[-1] if isinstance(value, str) and value.startswith("s3://") else value


def test_plans_are_the_same(lake: SharedLake, client: httpx.Client) -> None:
    """The log of the indexed table is damaged before the indexed version."""
    plain, indexed = indexed_pair(lake, 1)
    versions: list[dict[str, Any]] = [{"snapshot-id": each + 1} for each in (INDEXED, INDEXED + 2)]
    found: list[str] = []
    for schema in ("full", "german", "mine", "recent", "plain"):
        for body in (*BODIES, *versions):
            expected = plan(client, plain, schema, body)
            assert plan(client, indexed, schema, body) == expected
            found += expected
    assert len(found) > 20
    assert any("position-deletes" in task for task in found)
    assert not lake.gateway.log.count("is not used")


def test_a_table_is_loaded_and_planned_again_without_its_log(
    lake: SharedLake, client: httpx.Client
) -> None:
    plain, indexed = indexed_pair(lake, 2)
    for version in range(INDEXED):  # otherwise, the versions before the index are read to be listed
        (indexed.folder.log / f"{version:020}.json").unlink()
    for schema in ("plain", "full"):
        expected, found = (load(client, each, schema) for each in (plain, indexed))
        assert found["schemas"] == expected["schemas"]
        assert found["current-snapshot-id"] == expected["current-snapshot-id"] == INDEXED + 4
    first = client.post(f"/plain/tables/{indexed.name}/plan", json={"filter": DE}).json()
    again = client.get(f"/plain/tables/{indexed.name}/plan/{first['plan-id']}").json()
    assert _without_proofs(first["file-scan-tasks"]) == _without_proofs(again["file-scan-tasks"])
    foreign = client.get(f"/german/tables/{indexed.name}/plan/{first['plan-id']}")
    assert foreign.status_code == 404


def test_what_needs_all_files_reads_the_log(lake: SharedLake, client: httpx.Client) -> None:
    """Incremental scans, versions before the index, and deletion vectors in generated files."""
    plain, indexed, _ = copied_table(lake, 3)
    build_index(lake, indexed)
    bodies: list[Mapping[str, Any]] = [
        *({"start-snapshot-id": start, "end-snapshot-id": INDEXED + 1} for start in (INDEXED, 5, 1)),
        {"snapshot-id": INDEXED, "filter": ABOVE},
        {"start-snapshot-id": INDEXED + 1, "end-snapshot-id": INDEXED + 1},
    ]
    for schema in ("full", "german"):
        listed = [
            [each["snapshot-id"] for each in load(client, table, schema)["snapshots"]]
            for table in (indexed, plain)
        ]
        assert listed[0] == listed[1] == list(range(1, INDEXED + 2))
        for body in bodies:
            assert plan(client, indexed, schema, body) == plan(client, plain, schema, body)
        for body in BODIES:
            answers = [plan(client, each, schema, body, OLD_PYICEBERG) for each in (indexed, plain)]
            assert answers[0] == answers[1]
    assert "position-deletes" in str(plan(client, plain, "full", {}, OLD_PYICEBERG))
    assert not lake.gateway.log.count("is not used")


@pytest.mark.parametrize("what", ["parts", "manifest"])
def test_a_damaged_index_is_not_used(lake: SharedLake, client: httpx.Client, what: str) -> None:
    plain, indexed, _ = copied_table(lake, 7)
    of_table = build_index(lake, indexed)
    if what == "parts":  # are read for each plan, and the manifest once in a minute
        assert plan(client, indexed, "full", {}) == plan(client, plain, "full", {})
    damage_index(of_table, what)
    for body in BODIES:
        assert plan(client, indexed, "full", body) == plan(client, plain, "full", body)
    assert lake.gateway.logs(f"the snapshot index {of_table.name} is not used")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pyiceberg_reads_a_table_whose_log_is_not_needed(lake: SharedLake, token: str) -> None:
    """It loads the table, lets the gateway plan the scan, and lets it sign the requests for files.

    A commit after the table was loaded does not change the snapshot that is read.
    """
    table = lake.table()
    files = []
    for number, country in enumerate(("DE", "FR", "DE")):
        path = table.root / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([number, 10 + number], pa.int64())}), path)
        files.append(add(path.name, size=path.stat().st_size, partitionValues={"country": country}))
    table.folder.commit(0, protocol(), partitioned(("id", "long")), files[0])
    table.folder.commit(1, files[1])
    build_index(lake, table)
    damage_log(table, 1)
    table.folder.commit(2, files[2])
    catalog = RestCatalog(
        "share",
        uri=f"{lake.gateway.address}/iceberg",
        warehouse=SHARE,
        token=token,
        **{"scan-planning-mode": "server"},
    )
    loaded = catalog.load_table(("plain", table.name))
    version = loaded.metadata.current_snapshot_id
    scan = loaded.scan(row_filter="country = 'DE' and id > 0", snapshot_id=version)
    table.folder.commit(3, add("missing.parquet", partitionValues={"country": "DE"}))
    assert len(list(scan.plan_files())) == 2
    assert sorted(scan.to_arrow().column("id").to_pylist()) == [2, 10, 12]
