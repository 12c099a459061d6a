"""Tables that deltalake writes, read by the official client; deltalake's own feed is the oracle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import delta_sharing
import httpx
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.clients.change_answers import ChangeAnswer, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.process.random_cases import cases

FEED = {"delta.enableChangeDataFeed": "true"}
SPECIAL = ("_change_type", "_commit_version", "_commit_timestamp")

Rows = Counter[tuple[Any, ...]]
Step = Callable[[LakeTable], object]


def rows_of(ids: list[int], salt: int = 0) -> pa.Table:
    countries = ["DE", "FR", "IT"]  # deltalake finds no change files of names that need escaping
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "country": [countries[(number + salt) % 3] for number in ids],
            "text": [None if number % 4 == 0 else f"{number} ü {salt}" for number in ids],
        }
    )


def append(ids: list[int]) -> Step:
    return lambda table: write_deltalake(
        table.root, rows_of(ids), mode="append", schema_mode="merge", partition_by=["country"]
    )


def overwrite(ids: list[int], salt: int) -> Step:
    return lambda table: write_deltalake(
        table.root, rows_of(ids, salt), mode="overwrite", schema_mode="merge", partition_by=["country"]
    )


def update(divisor: int) -> Step:
    return lambda table: DeltaTable(table.root).update(
        {"text": f"'updated {divisor}'"}, predicate=f"id % {divisor} = 0"
    )


def delete(divisor: int) -> Step:
    return lambda table: DeltaTable(table.root).delete(f"id % {divisor} = 1")


def merge(ids: list[int], salt: int) -> Step:
    def step(table: LakeTable) -> None:
        target = DeltaTable(table.root)
        known = [field.name for field in target.schema().fields]
        source = rows_of(ids, salt)
        for name in known[3:]:
            source = source.append_column(name, pa.nulls(len(ids), pa.string()))
        merging = target.merge(source, "old.id = new.id", source_alias="new", target_alias="old")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()

    return step


def add_column(name: str) -> Step:
    return lambda table: DeltaTable(table.root).alter.add_columns(Field(name, PrimitiveType("string")))


def optimize(table: LakeTable) -> None:
    DeltaTable(table.root).optimize.compact()


def checkpoint(table: LakeTable) -> None:
    DeltaTable(table.root).create_checkpoint()


IDS = st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True)
CHANGING_STEPS = st.one_of(
    st.builds(append, IDS),
    st.builds(overwrite, IDS, st.integers(0, 5)),
    st.builds(merge, IDS, st.integers(0, 5)),
    st.builds(update, st.integers(2, 5)),
    st.builds(delete, st.integers(2, 5)),
    st.just(checkpoint),
)
STEPS = st.one_of(CHANGING_STEPS, st.just(optimize))
SOME_STEPS = [
    append([4, 5, 6]),
    update(2),
    delete(3),
    optimize,
    merge([1, 2, 50], 1),
    checkpoint,
    overwrite([1, 2, 7], 2),
    append([8]),
]


def create(table: LakeTable, steps: list[Step]) -> None:
    first = rows_of([1, 2, 3])
    write_deltalake(table.root, first, partition_by=["country"], configuration=FEED)
    for step in steps:
        step(table)


def expected(table: LakeTable, start: int, end: int | None = None) -> Rows:
    """deltalake's feed without moments: it takes what the commit says, not what the log says."""
    return counted(pa.table(DeltaTable(table.root).load_cdf(start, end).read_all()).to_pandas())


def counted(frame: pd.DataFrame) -> Rows:
    names = sorted(set(frame.columns) - {"_commit_timestamp"})
    rows = frame[names].itertuples(index=False, name=None)
    return Counter(tuple(None if pd.isna(value) else value for value in row) for row in rows)


@pytest.fixture(scope="module")
def written(lake: SharedLake) -> LakeTable:
    table = lake.table()
    create(table, SOME_STEPS)
    return table


RANGES = [(0, None), (0, 0), (1, 3), (2, 2), (4, 4), (4, 6), (5, None)]


@pytest.mark.parametrize(("start", "end"), RANGES)
def test_the_client_reads_the_feed_in_parquet_format(
    lake: SharedLake, written: LakeTable, start: int, end: int | None
) -> None:
    frame = lake.recipient().changes(
        written.name, use_delta_format=False, starting_version=start, ending_version=end
    )
    assert counted(frame) == expected(written, start, end)


@pytest.mark.parametrize(("start", "end"), RANGES)
def test_the_client_reads_the_feed_by_its_kernel(
    lake: SharedLake, written: LakeTable, start: int, end: int | None
) -> None:
    frame = lake.recipient().changes(
        written.name, use_delta_format=True, starting_version=start, ending_version=end
    )
    assert counted(frame) == expected(written, start, end)


@pytest.mark.parametrize("use_delta_format", [None, False, True])
def test_the_feed_is_loaded_by_its_address_and_time(
    lake: SharedLake, written: LakeTable, use_delta_format: bool | None
) -> None:
    moment = DeltaTable(written.root).history()[0]["timestamp"]
    url = lake.recipient().url(written.name)
    frame = delta_sharing.load_table_changes_as_pandas(
        url,
        starting_timestamp=datetime.fromtimestamp((moment - 3_600_000) / 1000, UTC).isoformat(),
        use_delta_format=use_delta_format,
    )
    assert counted(frame) == expected(written, 0)


@pytest.mark.parametrize("use_delta_format", [False, True])
def test_a_version_without_changes_is_an_empty_frame(
    lake: SharedLake, written: LakeTable, use_delta_format: bool
) -> None:
    compacted = next(
        entry["version"]
        for entry in DeltaTable(written.root).history()
        if entry["operation"] == "OPTIMIZE"
    )
    frame = lake.recipient().changes(
        written.name,
        use_delta_format=use_delta_format,
        starting_version=compacted,
        ending_version=compacted,
    )
    assert frame.empty
    assert set(frame.columns) == {"id", "country", "text", *SPECIAL}


def test_columns_that_are_added_within_the_range_are_not_lost(
    lake: SharedLake, table: LakeTable
) -> None:
    create(table, [append([4]), add_column("more"), merge([4, 60], 1)])
    write_deltalake(
        table.root,
        rows_of([70]).append_column("more", pa.array(["x"])),
        mode="append",
        partition_by=["country"],
    )
    for end in (None, 4, 1):
        frame = lake.recipient().changes(
            table.name, use_delta_format=False, starting_version=0, ending_version=end
        )
        assert "more" in frame.columns
        assert counted(frame) == expected(table, 0, end)


def test_an_older_range_keeps_its_columns_when_the_table_was_replaced(
    lake: SharedLake, table: LakeTable
) -> None:
    create(table, [append([4])])
    other = pa.table({"id": ["now a text"], "country": ["DE"]})
    write_deltalake(table.root, other, mode="overwrite", schema_mode="overwrite")
    frame = lake.recipient().changes(
        table.name, use_delta_format=False, starting_version=0, ending_version=1
    )
    assert sorted(zip(frame["id"], frame["text"], strict=True), key=str) == [
        (1, "1 ü 0"),
        (2, "2 ü 0"),
        (3, "3 ü 0"),
        (4, None),
    ]


@settings(
    max_examples=cases(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=7),
    columns=st.booleans(),
    start=st.integers(0, 7),
    length=st.integers(0, 7),
)
def test_any_history_is_reported_as_deltalake_reports_it(
    lake: SharedLake, steps: list[Step], columns: bool, start: int, length: int
) -> None:
    table = lake.table()
    create(table, steps[:3] + [add_column("more")] * columns + steps[3:])
    latest = DeltaTable(table.root).version()
    start = min(start, latest)
    end = min(start + length, latest)
    bounds = {"starting_version": start, "ending_version": end}
    right = expected(table, start, end)
    assert counted(lake.recipient().changes(table.name, use_delta_format=False, **bounds)) == right
    if not columns:  # the client's kernel reads no range in which the schema changes
        frame = lake.recipient().changes(table.name, use_delta_format=True, **bounds)
        assert counted(frame) == right


@settings(
    max_examples=cases(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(CHANGING_STEPS, min_size=1, max_size=7), start=st.integers(0, 7))
def test_a_stream_followed_from_a_snapshot_arrives_at_the_latest_one(
    lake: SharedLake, steps: list[Step], start: int
) -> None:
    table = lake.table()
    create(table, steps)
    latest = DeltaTable(table.root).version()
    start = min(start, latest)
    live = files_of(lake, table, start)
    if start < latest:
        answer = ChangeAnswer.of(stream(lake, table, startingVersion=start + 1))
        for line in answer.lines[2:]:
            ((kind, value),) = line.items()
            if kind == "add":
                live.add(value["id"])
            elif kind == "remove":
                live.remove(value["id"])
    assert live == files_of(lake, table, latest)


def files_of(lake: SharedLake, table: LakeTable, version: int) -> set[str]:
    """Ids of the files of a version."""
    response = lake.client().post(f"{table.path()}/query", json={"version": version})
    assert response.status_code == 200
    return {
        line["file"]["id"] for line in map(json.loads, response.content.splitlines()) if "file" in line
    }


def test_every_feed_line_can_be_fetched(lake: SharedLake, written: LakeTable) -> None:

    answer = ChangeAnswer.of(feed(lake, written, startingVersion=0))
    for line in answer.lines[2:]:
        (value,) = line.values()
        fetched = httpx.get(value["url"])
        assert (fetched.status_code, len(fetched.content)) == (200, value["size"])
