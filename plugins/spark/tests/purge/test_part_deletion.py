"""Spark tasks delete a part for a limited time, and the next wave continues where they stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import obstore
import pyarrow as pa
import pytest

from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge import deletion
from sluicegate_spark.purge.wave_rule import Part
from sluicegate_spark.purge.waves import PartDeletion
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS

from ..store_access import access_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture(autouse=True)
def batches_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate_spark.purge.deletion.BATCH", 3)


def write(server: SeaweedFS, folder: str, files: int = 10) -> list[str]:
    """Write objects of ten bytes, and return their sorted locations."""
    for number in range(files):
        server.put(f"{folder}/{number}", b"ten bytes.")
    return [f"s3://{server.bucket}/{folder}/{number}" for number in range(files)]


def remaining(server: SeaweedFS, folder: str) -> int:
    return len(obstore.list(server.store(), prefix=folder).collect())


def expired(server: SeaweedFS, identity: Identity | None = None) -> ObjectAccess:
    """Return access with credentials that have expired."""
    access = access_of(server, identity=identity)
    past = int(time.time() * 1000) - 1
    return replace(access, credentials=replace(access.credentials, expires_at=past))


def run(access: ObjectAccess, part: Part, paths: list[str], seconds: float = 0) -> list[dict[str, Any]]:
    """Process a part that arrives in several record batches, and return the rows of the outcome."""
    schema = pa.schema([("path", pa.string()), ("part", pa.int32())])
    rows = [{"path": path, "part": part.number} for path in paths]
    parts = [rows[:0], rows[:4], rows[4:]]
    batches = iter([pa.RecordBatch.from_pylist(each, schema) for each in parts])
    outcome = list(PartDeletion(access, {part.number: part}, seconds)(batches))
    assert next(batches, None) is None, "a part of the input was not read"
    return [row for batch in outcome for row in batch.to_pylist()]


def test_a_part_is_deleted_in_as_many_waves_as_its_time_allows(server: SeaweedFS) -> None:
    paths, part = write(server, "waves"), Part(7)
    outcomes = []
    for _ in range(4):
        (outcome,) = run(access_of(server), part, paths)
        outcomes.append((outcome["after"], outcome["deleted"], outcome["size"]))
        part = replace(part, after=outcome["after"])
    assert outcomes == [(paths[2], 3, 30), (paths[5], 3, 30), (paths[8], 3, 30), (paths[9], 1, 10)]
    assert remaining(server, "waves") == 0


def test_only_batches_that_are_deleted_are_listed(
    server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, part, listed = write(server, "listed"), Part(7), list[str]()
    look = deletion._look

    def noted(access: ObjectAccess, locations: Sequence[str]) -> Any:
        listed.extend(locations)
        return look(access, locations)

    monkeypatch.setattr(deletion, "_look", noted)
    (outcome,) = run(access_of(server), part, paths)
    assert listed == paths[:3]
    run(access_of(server), replace(part, after=outcome["after"]), paths, seconds=600)
    assert listed == paths


def test_a_part_is_finished_within_its_time(server: SeaweedFS) -> None:
    paths = write(server, "finished")
    (outcome,) = run(access_of(server), Part(7), paths, seconds=600)
    assert (outcome["part"], outcome["finished"], outcome["seen"], outcome["deleted"]) == (
        7,
        True,
        10,
        10,
    )
    assert outcome["left"] == 0


def test_an_empty_part_has_no_outcome(server: SeaweedFS) -> None:
    assert run(access_of(server), Part(7), []) == []


def test_a_part_whose_credentials_expired_is_repeated_once(server: SeaweedFS) -> None:
    paths = write(server, "expired")
    denied = expired(server, server.nobody)
    (outcome,) = run(denied, Part(7), paths, seconds=600)
    assert (outcome["after"], outcome["finished"]) == ("", False)
    assert (outcome["seen"], outcome["left"], outcome["example"]) == (0, 0, "")
    (outcome,) = run(denied, Part(7, stalled=True), paths, seconds=600)
    assert (outcome["finished"], outcome["seen"], outcome["left"]) == (True, 10, 10)
    assert outcome["example"] == paths[0]


def test_credentials_that_only_claim_to_have_expired_delete(server: SeaweedFS) -> None:
    paths = write(server, "clock")
    (outcome,) = run(expired(server), Part(7), paths, seconds=600)
    assert (outcome["finished"], outcome["deleted"], outcome["left"]) == (True, 10, 0)
