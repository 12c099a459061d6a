"""What recipients read is summed from the table `daily`, which only the gateway reads here."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from obstore.store import LocalStore
from support.process.random_cases import cases
from support.tables.daily_usage import LAST_DAY, SCHEMA, random_rows, write_daily

from sluicegate.api import ConfigurationError, ObjectDirectory, SluicegateError
from sluicegate.api.budget import TableLimits
from sluicegate.vending.usage.models import USAGE_BY, UsageQuery, parse_day
from sluicegate.vending.usage.reads.daily_table import DailyTable
from sluicegate.vending.usage.reads.models import GROUPED, Key, Reads, ReadsReport
from sluicegate.vending.usage.report import read_reads

TODAY = parse_day(LAST_DAY.isoformat())
MONTH = UsageQuery("day", TODAY - 29, TODAY)
Row = dict[str, Any]


async def opened(location: str) -> ObjectDirectory:
    return ObjectDirectory(LocalStore("/"), location.removeprefix("file:///"))


async def report(folder: Path, query: UsageQuery, limits: TableLimits | None = None) -> ReadsReport:
    table = DailyTable(f"file://{folder}", opened, limits or TableLimits())
    return await read_reads(table, query)


def expected(rows: list[Row], query: UsageQuery) -> dict[Key, Reads]:
    """What a loop over the rows finds."""
    found: dict[Key, Reads] = defaultdict(Reads)
    for row in rows:
        if not _is_selected(row, query):
            continue
        values = row | {"day": parse_day(row["day"].isoformat())}
        names = ("requests", "failed_requests", "late_requests", "read_files", "read_bytes")
        found[tuple(values[name] for name in GROUPED[query.by])] += Reads(*(row[n] for n in names))
    return dict(found)


def _is_selected(row: Row, query: UsageQuery) -> bool:
    parts = [] if query.table is None else query.table.casefold().rsplit(".", 2)
    names = [str(row[name]).casefold() for name in ("share", "schema", "table")]
    return (
        row["requests"] > 0
        and query.since <= parse_day(row["day"].isoformat()) <= query.until
        and (query.recipient is None or str(row["recipient"]).casefold() == query.recipient.casefold())
        and (query.share is None or names[0] == query.share.casefold())
        and (query.shares is None or names[0] in query.shares)
        and (not parts or names[-len(parts) :] == parts)
    )


def random_query(random_: random.Random) -> UsageQuery:
    since = TODAY - random_.randrange(45)
    return UsageQuery(
        random_.choice(USAGE_BY),
        since,
        since + random_.randrange(45),
        recipient=random_.choice((None, None, "Acme", "ZÜRICH", "a=b%25", "nobody")),
        share=random_.choice((None, None, "SALES", "none")),
        table=random_.choice((None, "ORDERS", "eu.orders", "eu.returns.us.lines")),
        shares=random_.choice((None, None, {"sales"}, {"sales", "eu.returns"}, frozenset[str]())),
    )


@pytest.fixture(scope="module")
def daily(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """The directory of the tables of usage, and the rows, written in several commits."""
    folder = tmp_path_factory.mktemp("usage")
    rows: list[Row] = []
    for seed in range(4):
        added = random_rows(seed, 150)
        write_daily(folder, added)
        rows += added
    return folder, rows


@pytest.mark.parametrize("seed", range(cases(30)))
async def test_sums_are_those_of_the_rows(daily: tuple[Path, list[Row]], seed: int) -> None:
    folder, rows = daily
    query = random_query(random.Random(seed))
    found = await report(folder, query)
    wanted = expected(rows, query)
    assert {row.key: row.reads for row in found.rows} == wanted
    assert (found.total, found.truncated) == (sum(wanted.values(), Reads()), False)


async def test_the_newest_days_and_the_largest_others_remain(daily: tuple[Path, list[Row]]) -> None:
    folder, rows = daily
    cut = await report(folder, replace(MONTH, limit=3))
    assert (cut.truncated, [row.key for row in cut.rows]) == (
        True,
        [(TODAY - 2,), (TODAY - 1,), (TODAY,)],
    )
    everything = expected(rows, MONTH).values()
    assert cut.total == sum(everything, Reads())
    largest = await report(folder, replace(MONTH, by="recipient", limit=2))
    requests = sorted(each.requests for each in expected(rows, replace(MONTH, by="recipient")).values())
    assert [row.reads.requests for row in largest.rows] == requests[:-3:-1]


async def test_only_files_with_wanted_days_and_recipients_are_read(tmp_path: Path) -> None:
    row = dict.fromkeys(SCHEMA.names, 1) | {"share": "s", "schema": "s", "table": "t"}
    for recipient in ("acme", "beta"):
        for day in (date(2026, 10, 1), LAST_DAY):
            write_daily(tmp_path, [row | {"day": day, "recipient": recipient}])
    for path in [*(tmp_path / "daily").glob("recipient=beta/*"), *_oldest(tmp_path)]:
        path.unlink()
    found = await report(tmp_path, replace(MONTH, recipient="ACME"))
    assert [row.key for row in found.rows] == [(TODAY,)]
    with pytest.raises(SluicegateError, match="changed while it was read; try again"):
        await report(tmp_path, MONTH)


def _oldest(folder: Path) -> list[Path]:
    """The files of one recipient with days before the month."""
    files = [*(folder / "daily").glob("recipient=acme/*")]
    return [path for path in files if pq.read_table(path).column("day")[0].as_py() < LAST_DAY]


def _write_elsewhere(folder: Path) -> None:
    pass


def _with_another_column(folder: Path) -> None:
    table = pa.Table.from_pylist(random_rows(0, 3), SCHEMA).drop_columns("read_bytes")
    DeltaTable.create(str(folder / "daily"), table.schema, partition_by=["recipient"])


def _without_partitions(folder: Path) -> None:
    write_daily(folder, random_rows(0, 3), partition_by=["share"])


def _with_damaged_file(folder: Path) -> None:
    for path in write_daily(folder, random_rows(0, 9)).rglob("*.parquet"):
        path.write_bytes(b"PAR1" + bytes(20) + b"PAR1")


def _with_another_type(folder: Path) -> None:
    for path in write_daily(folder, random_rows(0, 9)).rglob("*.parquet"):
        rows = pq.ParquetFile(path).read()
        texts = rows.column("requests").cast(pa.string())
        pq.write_table(rows.set_column(rows.schema.names.index("requests"), "requests", texts), path)


def _with_large_file(folder: Path) -> None:
    for path in write_daily(folder, random_rows(0, 9)).rglob("*.parquet"):
        with path.open("r+b") as file:
            file.truncate(64_000_001)


def _with_file_elsewhere(folder: Path) -> None:
    _edit_log(folder, '"path":"', f'"path":"file://{folder}/other/')


def _with_deletion_vector(folder: Path) -> None:
    vector = '{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",'
    vector += '"sizeInBytes":40,"cardinality":6}'
    _edit_log(folder, '"add":{', f'"add":{{"deletionVector":{vector},')


def _with_mapped_columns(folder: Path) -> None:
    _edit_log(folder, '"configuration":{', '"configuration":{"delta.columnMapping.mode":"name"')


def _edit_log(folder: Path, old: str, new: str) -> None:
    log = write_daily(folder, random_rows(0, 1)) / "_delta_log" / f"{0:020}.json"
    text = log.read_text()
    assert old in text
    log.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_with_deletion_vector, "it has deletion vectors"),
        (_with_mapped_columns, "its columns are mapped"),
        (_write_elsewhere, "there is no Delta table 'daily' in the directory usage.location"),
        (_with_another_column, "column 'read_bytes' is missing or has another type than long"),
        (_without_partitions, "it is not partitioned by recipient"),
        (_with_damaged_file, "a data file is damaged, or its columns are not those"),
        (_with_another_type, "a data file is damaged, or its columns are not those"),
        (_with_large_file, "a data file has 64000001 bytes"),
        (_with_file_elsewhere, "names a data file outside of its directory"),
    ],
)
async def test_a_table_that_cannot_be_read_is_explained(
    tmp_path: Path, write: Callable[[Path], None], message: str
) -> None:
    write(tmp_path)
    with pytest.raises(SluicegateError) as failed:
        await report(tmp_path, replace(MONTH, since=0))
    assert message in failed.value.message
    assert failed.value.status in (400, 404)
    assert str(tmp_path) not in failed.value.message


@pytest.mark.parametrize("limits", [TableLimits(bytes=20_000), TableLimits(rows=40)], ids=repr)
async def test_a_table_that_exceeds_limits_is_explained(tmp_path: Path, limits: TableLimits) -> None:
    write_daily(tmp_path, random_rows(1, 200))
    with pytest.raises(
        SluicegateError, match=r"raise limits\.table\.\w+, or you can select fewer days"
    ):
        await report(tmp_path, replace(MONTH, since=0), limits)


async def test_a_location_without_a_storage_is_explained() -> None:
    async def refuse(location: str) -> ObjectDirectory:
        raise ConfigurationError(f"no configured storage serves {location}")

    table = DailyTable("s3://usage/tables", refuse, TableLimits())
    with pytest.raises(
        SluicegateError, match=r"usage\.location cannot be opened: no configured"
    ) as error:
        await table.sums(MONTH)
    assert error.value.status == 400
