"""Usage in Delta tables equals the ledger and the reads, whatever happens to the stream and its lines.

The stream is canceled between two writes of a batch, its process is killed at random points (many more
at night), it loses its checkpoint, and reads broken, late and repeated lines. The recipients then read
their own usage as a share.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import anyio
import httpx
import obstore
import orjson
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pydantic import ValidationError
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.s3_lake import storage_of, write_table
from support.process.random_cases import times
from support.process.spark import SMALL_TABLES
from support.servers.task_engine import SharedSpark
from support.tables.access_logs import logged, read_and_log
from support.tasks.killed_collections import LedgerRun, collect, kill_a_collection

from sluicegate.api import TaskResult, url_label
from sluicegate.database import Store
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.usage.tables import UsageTables
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.secrets import keep_url_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.slow

TABLES = ("orders", "customers")
LABELLED = "customers"  # its URLs have labels, so recipients need not differ in anything else
KILLS = 3 * times() - 2  # each starts Spark
# Their addresses: URLs of the same second without labels differ in nothing else.
RECIPIENTS = {"acme": "127.0.0.1", "beta": "127.0.0.2"}
BROKEN = ("", "\0binary\n", "a line that was cut [26/Nov\n", "é" * 40_000 + "\n")
SIGNATURE = "X-Amz-Signature=of-a-broken-line"


@dataclass
class Reads:
    """What recipients read, and the lines of it."""

    files: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    responses: int = 0
    lines: list[str] = field(default_factory=list)
    of_one_second: str = field(default="", repr=False)

    def read(
        self, gateway: RunningGateway, profile: Path, recipient: str, table: str, limit: int = 1000
    ) -> str:
        """Query a table, read its files, the first of them twice, and return the first URL."""
        token = json.loads(profile.read_text())["bearerToken"]
        path = f"{gateway.endpoint}/shares/lake/schemas/sales/tables/{table}/query"
        address = "127.0.0.3" if table == LABELLED else RECIPIENTS[recipient]
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as client:
            query = {"limitHint": limit}
            answer = client.post(path, json=query, headers={"Authorization": f"Bearer {token}"})
        urls = [orjson.loads(line)["file"]["url"] for line in answer.text.splitlines()[2:]]
        keep_url_secret(*urls)
        self.responses += 1
        for url in (urls[0], *urls[:-1]):
            size, line = read_and_log(url, address)
            self.files[recipient, table][url.partition("?")[0]] += 1
            self.bytes[recipient, table] += size
            self.lines.append(line)
        return str(urls[0])

    def read_in_one_second(self, usage: Usage) -> str:
        """Let all recipients read a table at the same address, until they got URLs in one second."""
        for limit in itertools.count(1001):  # an equal query would get the same URLs again
            urls = [
                self.read(usage.gateway, profile, recipient, LABELLED, limit)
                for recipient, profile in usage.profiles.items()
            ]
            if len({dict(parse_qsl(urlsplit(url).query))["X-Amz-Date"] for url in urls}) == 1:
                return urls[0]
        raise AssertionError


@dataclass(frozen=True)
class Usage:
    """A store with tables and logs, a gateway, and an executor that collects usage."""

    server: SeaweedFS
    gateway: RunningGateway
    section: dict[str, Any] = field(repr=False)
    profiles: dict[str, Path]

    @property
    def database(self) -> str:
        """The database of the gateway."""
        return f"sqlite:///{self.gateway.folder}/sluicegate.db"

    async def collect(self, stop: bool = False) -> TaskResult | None:
        """Run the operation once; canceled if it is stopped."""
        store = await Store.open(self.database)
        try:
            run = LedgerRun(store=store)
            with run.scope, pytest.MonkeyPatch.context() as patch:
                if stop:
                    patch.setattr(UsageTables, "insert_new", _stopping(run))
                config = SparkConfig.model_validate(self.section)
                return await collect(SparkExecutor.configured(config, FakeContext()), run)
        finally:
            await store.aclose()
        return None

    def log(self, name: str, lines: Sequence[str]) -> None:
        """Write a log file."""
        self.server.put(f"logs/2026/11/{name}", "".join(lines).encode())

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table of usage, read without Spark."""
        admin = self.server.admin
        options = {
            "aws_endpoint": self.server.endpoint,
            "aws_region": self.server.region,
            "aws_access_key_id": admin.access_key_id,
            "aws_secret_access_key": admin.secret_access_key,
            "aws_allow_http": "true",
        }
        found = DeltaTable(f"s3://lake/usage/{table}", storage_options=options)
        return [dict(row) for row in found.to_pyarrow_table().to_pylist()]

    def lose_checkpoint(self) -> None:
        """Delete what Spark knows of files that it has read."""
        store = self.server.store()
        paths = [each["path"] for page in obstore.list(store, "usage/_checkpoints/") for each in page]
        assert paths
        obstore.delete(store, paths)


def _stopping(run: RecordedRun) -> Any:
    """Return `UsageTables.insert_new` that cancels the task once reads were inserted."""
    original, once = UsageTables.insert_new, threading.Lock()

    def insert_new(tables: UsageTables, rows: DataFrame, table: str, days: Collection[date]) -> None:
        original(tables, rows, table, days)
        if table == "reads" and once.acquire(blocking=False):
            run.loop.call_soon_threadsafe(run.scope.cancel)
            raise RuntimeError("the worker ends here")

    return insert_new


@pytest.fixture(scope="module")
def usage(shared_spark: SharedSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Usage]:
    if shared_spark.is_connect:
        pytest.skip("the executor refuses to collect usage through Spark Connect")
    folder = tmp_path_factory.mktemp("usage")
    with SeaweedFS.start(folder / "store") as server:
        for table in TABLES:
            for part in range(4):
                rows = pa.table({"id": list(range(part * 10, part * 10 + 10))})
                write_table(server, table, rows, mode="append")
        sales = {name: {"catalog": "raw", "table": f"s3://lake/{name}"} for name in TABLES}
        daily = {
            "catalog": "raw",
            "table": "s3://lake/usage/daily",
            "partition_filter": "recipient = recipient.name",
        }
        shares = {
            "lake": {"schemas": {"sales": {"tables": sales}}},
            "usage": {"schemas": {"usage": {"tables": {"daily": daily}}}},
        }
        write_configuration(
            folder / "gateway",
            {
                "catalogs": {"raw": {"type": "paths"}},
                "storage": [
                    storage_of(server),
                    storage_of(server) | {"prefix": f"s3://lake/{LABELLED}/", "label_urls": True},
                ],
                "usage": {"location": "s3://lake/usage"},
            },
            {
                "shares": shares,
                "recipients": {
                    each: {"shares": [*shares], "properties": {"name": each}} for each in RECIPIENTS
                },
            },
        )
        with running_gateway(folder / "gateway") as gateway:
            profiles = {each: gateway.profile(each) for each in RECIPIENTS}
            yield Usage(server, gateway, _section(shared_spark, server), profiles)
            assert "Traceback" not in gateway.log


def _section(spark: SharedSpark, server: SeaweedFS) -> dict[str, Any]:
    admin = server.admin
    usage = {
        "location": "s3://lake/usage",
        # No file has been written into the second directory yet.
        "access_logs": ["s3://lake/logs/", "s3://lake/new-logs/"],
        "file_io": {
            "s3.access-key-id": admin.access_key_id,
            "s3.secret-access-key": admin.secret_access_key,
            "s3.endpoint": server.endpoint,
            "s3.path-style-access": "true",
            "client.region": server.region,
        },
    }
    return spark.section(SMALL_TABLES, usage=usage)


@pytest.fixture(scope="module")
def reads(usage: Usage) -> Reads:
    """Let the recipients read, and write the logs of it."""
    found = Reads()
    for recipient in RECIPIENTS:
        for _ in range(2):
            found.read(usage.gateway, usage.profiles[recipient], recipient, "orders")
    found.of_one_second = found.read_in_one_second(usage)
    return found


@pytest.fixture(scope="module")
def others(reads: Reads) -> list[str]:
    """Lines of reads that nobody was offered, or that can be those of several recipients."""
    session = "arn:aws:sts::123456789012:assumed-role/reader"
    long_ago = datetime.now(UTC) - timedelta(days=3)
    url = urlsplit(reads.of_one_second)
    label = re.search("x-offer=[^&]+&", url.query)
    assert label is not None
    unknown = f"{url.path}?{url.query.replace(label[0], f'x-offer={url_label(str(uuid4()))}&')}"
    without = f"{url.path}?{url.query.replace(label[0], '')}"
    return [
        logged("/lake/orders/a.parquet", requester=f"{session}/acme", at=long_ago, size=7),
        logged("/lake/orders/a.parquet", requester=f"{session}/nobody", size=7),
        logged("/lake/elsewhere/a.parquet", size=7),
        logged("/lake/orders/a.parquet?X-Amz-Date=20200101T000000Z&X-Amz-Expires=60", status=403),
        *(logged(each, address="127.0.0.3", size=7) for each in (unknown, without)),
    ]


@pytest.fixture(scope="module")
def collected(usage: Usage, reads: Reads, others: list[str]) -> TaskResult:
    """Collect usage from good, broken, late and repeated lines, with interruptions."""
    half = len(reads.lines) // 2
    usage.log("a", reads.lines[:half])
    usage.log("b", [BROKEN[1], *others, f"broken ?{SIGNATURE}\n", BROKEN[3]])
    usage.log("c", [logged("/lake?list-type=2", operation="REST.GET.BUCKET"), BROKEN[2]])
    assert anyio.run(usage.collect, True) is None
    interrupted = usage.rows("reads")
    assert len(interrupted) == half + len(others)
    assert {each["matched_by"] for each in interrupted} == {None}
    usage.lose_checkpoint()
    usage.log("d", reads.lines[half:])
    usage.log("e", [reads.lines[0], BROKEN[2]])
    _kill_collections(usage, reads)
    session = "arn:aws:sts::123456789012:assumed-role/reader/acme"
    others.append(logged("/lake/elsewhere/b.parquet", requester=session, size=7))
    usage.log("f", others[-1:])
    result = anyio.run(usage.collect)
    assert result is not None
    return result


def _kill_collections(usage: Usage, reads: Reads) -> None:
    """Kill processes that collect usage, while recipients read more, and more lines are repeated."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for number in range(KILLS):
        if number:
            known = len(reads.lines)
            recipient, table = dice.choice(sorted(reads.files))
            reads.read(usage.gateway, usage.profiles[recipient], recipient, table)
            repeated = dice.sample(reads.lines[:known], 3)
            usage.log(f"killed-{number}", [*reads.lines[known:], *repeated, BROKEN[2]])
        stage = kill_a_collection(usage.section, usage.database, dice)
        print(f"killed in '{stage}'")
        if number and dice.random() < 0.5:
            usage.lose_checkpoint()


def test_a_spark_connect_server_is_refused(shared_spark: SharedSpark) -> None:
    section = shared_spark.section(usage={"location": "s3://lake/usage"})
    if shared_spark.is_connect:
        with pytest.raises(ValidationError, match="COLLECT_USAGE needs Spark's driver in the worker"):
            SparkConfig.model_validate(section)
    else:
        assert SparkConfig.model_validate(section).usage is not None


def test_usage_equals_the_ledger(usage: Usage, reads: Reads, collected: TaskResult) -> None:
    ledger = json.loads(usage.gateway.command("usage", "--by", "table", "--json"))["total"]
    rows = usage.rows("daily")
    assert sum(row["responses"] for row in rows) == ledger["responses"] == reads.responses
    assert sum(row["offered_files"] for row in rows) == ledger["files"] == 4 * reads.responses
    entries = json.loads(usage.gateway.command("ledger", "--json"))
    assert {each["event_id"] for each in usage.rows("offers")} == {each["id"] for each in entries}
    assert collected.further["ledger_entries"] == len(entries)


def test_usage_equals_the_reads(usage: Usage, reads: Reads, collected: TaskResult) -> None:
    rows = [row for row in usage.rows("daily") if row["recipient"] is not None]
    named = {(row["recipient"], row["table"]): row for row in rows}
    assert len(named) == len(rows)
    for name, files in reads.files.items():
        row = named.pop(name)
        assert row["requests"] == files.total()
        assert row["read_files"] == len(files)
        assert row["read_bytes"] == reads.bytes[name]
    assert not named
    matched = {(row["table"], row["matched_by"]) for row in usage.rows("reads") if row["recipient"]}
    assert matched == {("orders", "url"), (LABELLED, "label")}


def test_the_gateway_reports_the_reads_without_spark(
    usage: Usage, reads: Reads, others: list[str], collected: TaskResult
) -> None:
    days = ("--since", "7d", "--json")
    report = json.loads(usage.gateway.command("usage", "--reads", "--by", "table", *days))
    requests = {row["table"]: row["requests"] for row in report["items"]}
    expected = Counter[str | None]({None: len(others)})
    for (_, table), files in reads.files.items():
        expected[table] += files.total()
    assert requests == expected
    own = json.loads(usage.gateway.command("usage", "--reads", "--recipient", "acme", *days))["total"]
    assert own["bytes"] == sum(reads.bytes["acme", table] for table in TABLES)


def test_reads_without_an_offer_are_nobodys(
    usage: Usage, others: list[str], collected: TaskResult
) -> None:
    nobodys = [row for row in usage.rows("reads") if row["recipient"] is None]
    assert len(nobodys) == len(others)
    assert Counter(row["matched_by"] for row in nobodys) == {"none": len(others) - 1, "ambiguous": 1}
    reasons = {name: number for name, number in collected.further.items() if "match" in name}
    reasons["ambiguous"] = collected.further["ambiguous_reads"]
    others_of_directory = reasons.pop("unmatched_time_or_recipient")
    # A killed collection may have written the sums of the day of one of them.
    assert others_of_directory in (3, 4)
    assert reasons == {
        "ambiguous": 1,
        "unmatched_other_requester": 1,
        "unmatched_directory": 1,
    }
    daily = [row for row in usage.rows("daily") if row["recipient"] is None]
    assert sum(row["requests"] for row in daily) == len(others)
    assert sum(row["failed_requests"] for row in daily) == 1
    assert sum(row["late_requests"] for row in daily) == 1


def test_broken_lines_are_kept_once_without_secrets(usage: Usage, collected: TaskResult) -> None:
    rows = usage.rows("rejected")
    assert Counter(each["reason"] for each in rows) == {
        "control characters": 1,
        "not in the format of an access log": 3 + KILLS - 1,
        "longer than 65536 bytes": 1,
    }
    assert all("Signature" not in each["content"] for each in rows)


# What was collected before is read again for each change, too: `collected` loses checkpoints.
@pytest.mark.night("test_usage_equals_the_reads")
def test_nothing_new_changes_nothing(usage: Usage, collected: TaskResult) -> None:
    tables = ("offers", "reads", "daily", "rejected")
    before = {table: sorted(map(repr, usage.rows(table))) for table in tables}
    usage.lose_checkpoint()
    result = anyio.run(usage.collect)
    assert result is not None
    assert (result.further["days"], result.further["other_requests"]) == (0, 1)
    assert {table: sorted(map(repr, usage.rows(table))) for table in tables} == before


def test_each_recipient_reads_its_own_usage(usage: Usage, collected: TaskResult) -> None:
    for name, profile in usage.profiles.items():
        shared = Recipient(profile, "usage", "usage").read("daily", use_delta_format=True)
        own = pd.DataFrame([row for row in usage.rows("daily") if row["recipient"] == name])
        columns = sorted(own.columns)
        assert sorted(shared.columns) == columns
        keys = ["day", "table"]
        found = shared[columns].sort_values(keys).reset_index(drop=True).astype(str)
        pd.testing.assert_frame_equal(
            found, own[columns].sort_values(keys).reset_index(drop=True).astype(str)
        )
