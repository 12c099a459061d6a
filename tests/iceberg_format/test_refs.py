"""Branches and tags that are shared as tables: versions, changes, schemas, and refs that are gone."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.types import StringType
from support.clients.recipient import Recipient, Refusal, refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.process.random_cases import cases
from support.tables.iceberg_deletes import (
    change_metadata,
    data_files,
    delete_by_vectors,
    delete_positions,
)
from support.tables.large_vectors import FITS, SCHEMA, fill, left, scattered, vectors
from support.tables.rows import assert_same_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]

GONE = Refusal(
    404,
    "RESOURCE_DOES_NOT_EXIST",
    "the branch or tag at which the table is shared does not exist: ask the provider to share another "
    "one",
)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {id}" for id in ids]})


def branched(lake: IcebergSharing, format_version: int = 2) -> tuple[str, Table]:
    """Versions 1, 2, 3, 5 and 7 on the main branch, and 1, 2, 4 and 6 on `audit`; the tag `v1` is 2."""
    name, table = lake.table(rows(1).schema, format_version=format_version)
    table.append(rows(1, 2))
    table.append(rows(3, 4))
    second = snapshot_id(table, "main")
    table.manage_snapshots().create_branch(second, "audit").create_tag(second, "v1").commit()
    table.append(rows(5))
    table.append(rows(6, 7), branch="audit")
    table.delete("id = 1")
    table.delete("id = 3", branch="audit")
    table.append(rows(8))
    return name, table


def snapshot_id(table: Table, ref: str) -> int:
    return table.metadata.refs[ref].snapshot_id


def replace_audit(table: Table) -> None:
    """Let the branch `audit` start again at the main branch."""
    main = snapshot_id(table, "main")
    table.manage_snapshots().remove_branch("audit").commit()
    table.manage_snapshots().create_branch(main, "audit").commit()


def lineage(table: Table, ref: str) -> list[tuple[int, int]]:
    """The version and the snapshot of each ancestor, from the oldest, as the format numbers them."""
    found, current = [], table.snapshot_by_name(ref)
    while current is not None:
        first = table.metadata.format_version == 1
        version = current.timestamp_ms if first else current.sequence_number
        assert version is not None
        found.append((version, current.snapshot_id))
        parent = current.parent_snapshot_id
        current = None if parent is None else table.snapshot_by_id(parent)
    return found[::-1]


def wanted(table: Table, snapshot: int) -> pa.Table:
    return table.scan(snapshot_id=snapshot).to_arrow()


@pytest.mark.parametrize("format_version", [1, 2])
@pytest.mark.parametrize("ref", ["audit", "main"])
def test_versions_of_a_branch_are_its_ancestors(
    lake: IcebergSharing, ref: str, format_version: int
) -> None:
    name, table = branched(lake, format_version)
    branch = lake.at(ref)
    assert_same_rows(table.scan().use_ref(ref).to_arrow(), branch.read(name))
    own = lineage(table, ref)
    for version, snapshot in own:
        assert_same_rows(wanted(table, snapshot), branch.read(name, version=version))
    every = {version for each in ("audit", "main") for version, _ in lineage(table, each)}
    others = every - {version for version, _ in own}
    assert others
    for version in others:
        refused = refusal_of(partial(branch.read, name, version=version))
        assert refused.status == 400
        assert "does not exist" in refused.message or "beyond" in refused.message


def test_a_tag_is_one_version(lake: IcebergSharing) -> None:
    name, table = branched(lake)
    tagged = lake.at("v1")
    truth = wanted(table, snapshot_id(table, "v1"))
    assert_same_rows(truth, tagged.read(name))
    assert_same_rows(truth, tagged.read(name, version=2))
    for version in (1, 3):
        refused = refusal_of(partial(tagged.read, name, version=version))
        assert (refused.status, "versions 2 to 2 can be read" in refused.message) == (400, True)
    table.append(rows(9))
    assert_same_rows(truth, tagged.read(name))


@pytest.mark.parametrize("start", [0, 2])
def test_a_tag_has_no_changes(lake: IcebergSharing, start: int) -> None:
    name, _ = branched(lake)
    refused = refusal_of(
        lambda: lake.at("v1").changes(name, use_delta_format=False, starting_version=start)
    )
    assert (refused.status, refused.code) == (400, "UNSUPPORTED_OPERATION")
    assert "shared at a tag, which is a single version without changes" in refused.message


def changed(recipient: Recipient, name: str, start: int) -> list[tuple[int, int, str]]:
    told = recipient.changes(name, use_delta_format=False, starting_version=start)
    columns = (told["_commit_version"], told["id"], told["_change_type"])
    return sorted(zip(*columns, strict=True))


def test_changes_of_a_branch_are_those_of_its_own_commits(lake: IcebergSharing) -> None:
    name, _ = branched(lake)
    found = changed(lake.at("audit"), name, 4)
    # Copy on write: the row that stays in the rewritten file is deleted and inserted.
    assert set(found) - {(6, 4, "delete"), (6, 4, "insert")} == {
        (4, 6, "insert"),
        (4, 7, "insert"),
        (6, 3, "delete"),
    }
    assert {version for version, _, _ in changed(lake.at("main"), name, 3)} == {3, 5, 7}
    assert {version for version, _, _ in changed(lake.recipient, name, 3)} == {3, 5, 7}


def test_changes_since_any_version_of_a_branch_can_be_read(lake: IcebergSharing) -> None:
    name, table = branched(lake)
    for version, _ in lineage(table, "audit"):
        assert min(changed(lake.at("audit"), name, version))[0] == version


def test_who_read_what_a_branch_had_before_it_was_replaced_gets_no_changes(
    lake: IcebergSharing,
) -> None:
    name, table = branched(lake)
    replace_audit(table)
    audit = lake.at("audit")
    assert_same_rows(table.scan().to_arrow(), audit.read(name))
    for start in (5, 7):  # the next ones after the versions 4 and 6, which are gone
        refused = refusal_of(
            partial(audit.changes, name, use_delta_format=False, starting_version=start)
        )
        assert (refused.status, "or replaced" in refused.message) == (400, True)
    assert {version for version, _, _ in changed(audit, name, 3)} == {3, 5, 7}
    assert {version for version, _, _ in changed(lake.recipient, name, 7)} == {7}


def test_a_tag_has_the_schema_of_its_snapshot_and_a_branch_the_tables(lake: IcebergSharing) -> None:
    name, table = branched(lake)
    with table.update_schema() as update:
        update.add_column("city", StringType())
    assert list(lake.at("v1").read(name).columns) == ["id", "name"]
    assert_same_rows(wanted(table, snapshot_id(table, "v1")), lake.at("v1").read(name))
    for ref in ("audit", "main"):
        found = lake.at(ref).read(name)
        assert list(found.columns) == ["id", "name", "city"]
        assert found["city"].isna().all()
        old = table.scan().use_ref(ref).to_arrow()
        assert_same_rows(old, found[["id", "name"]])


def test_a_ref_that_is_dropped_or_was_never_made_is_missing(lake: IcebergSharing) -> None:
    name, table = branched(lake)
    audit, tagged = lake.at("audit"), lake.at("v1")
    audit.read(name)
    tagged.read(name)
    table.manage_snapshots().remove_branch("audit").remove_tag("v1").commit()
    for recipient in (audit, tagged):
        assert refusal_of(partial(recipient.read, name)) == GONE
        assert refusal_of(partial(recipient.read, name, version=2)) == GONE
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))
    unbranched, _ = lake.table(rows(1).schema)
    assert refusal_of(lambda: audit.read(unbranched)) == GONE
    assert lake.at("main").read(unbranched).empty
    assert "'audit' is none of 'main'" in lake.gateway.log


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ({"snapshot-id": 7, "type": "branch"}, "is missing from the Iceberg table's metadata"),
        ({"snapshot-id": 7, "type": "twig"}, "is broken"),
        ({"type": "tag"}, "is broken"),
    ],
)
def test_broken_refs_are_refused(lake: IcebergSharing, ref: dict[str, object], told: str) -> None:
    name, table = lake.table(rows(1).schema)
    table.append(rows(1))
    change_metadata(table, lambda metadata: metadata["refs"].update(audit=ref))
    refused = refusal_of(lambda: lake.at("audit").read(name))
    assert (refused.status, told in refused.message) == (400, True)


@pytest.mark.parametrize("delete", [delete_positions, delete_by_vectors])
def test_deletes_in_separate_files_are_those_of_the_branch(
    lake: IcebergSharing, delete: Callable[[Table, dict[str, list[int]]], None]
) -> None:
    name, table = lake.table(rows(1).schema)
    table.append(rows(1, 2, 3))
    first = snapshot_id(table, "main")
    (file,) = data_files(table)
    delete(table, {file: [0]})
    second = snapshot_id(table, "main")
    table.manage_snapshots().create_branch(second, "audit").create_tag(first, "v1").commit()
    delete(table, {file: [0, 1]})
    found = {ref: sorted(lake.at(ref).read(name)["id"]) for ref in ("main", "audit", "v1")}
    assert found == {"main": [3], "audit": [2, 3], "v1": [1, 2, 3]}


def test_links_to_large_vectors_of_a_branch_serve_its_rows(lake: IcebergSharing) -> None:
    deleted = scattered(8)
    name, table = lake.table(SCHEMA)
    file = fill(table)
    delete_positions(table, {file: deleted})
    head = snapshot_id(table, "main")
    table.manage_snapshots().create_branch(head, "audit").commit()
    table.delete("id >= 0")
    assert lake.at("main").read(name).empty
    (vector,) = vectors(lake.at("audit"), name)
    assert vector["sizeInBytes"] > FITS
    assert sorted(lake.at("audit").read(name)["id"]) == left(deleted)


@pytest.mark.parametrize("seed", range(cases(4)))
def test_random_histories_agree_at_every_ref_and_version(lake: IcebergSharing, seed: int) -> None:
    dice = random.Random(seed)
    name, table = lake.table(rows(1).schema)
    table.append(rows(0, 1))
    first = snapshot_id(table, "main")
    table.manage_snapshots().create_branch(first, "audit").create_tag(first, "v1").commit()
    for step in range(8):
        branch = dice.choice(("main", "audit"))
        match dice.choice(("append", "append", "delete", "tag", "replace")):
            case "append":
                table.append(rows(10 * step + 10, 10 * step + 11), branch=branch)
            case "delete":
                ids = table.scan().use_ref(branch).to_arrow()["id"].to_pylist()
                table.delete(f"id = {dice.choice(ids or [0])}", branch=branch)
            case "tag":
                head = snapshot_id(table, branch)
                table.manage_snapshots().remove_tag("v1").commit()
                table.manage_snapshots().create_tag(head, "v1").commit()
            case "replace":
                replace_audit(table)
        for ref in ("main", "audit", "v1"):
            recipient = lake.at(ref)
            assert_same_rows(table.scan().use_ref(ref).to_arrow(), recipient.read(name))
            own = lineage(table, ref)
            version, snapshot = own[-1] if ref == "v1" else dice.choice(own)
            assert_same_rows(wanted(table, snapshot), recipient.read(name, version=version))
