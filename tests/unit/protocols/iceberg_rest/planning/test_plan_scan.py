"""Responses to plans: files, pages, tokens, deletion vectors, statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pyarrow as pa
import pytest
from support.gateways.memory_gateway import KEYS, shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import PREFIX, body, iceberg_view, paths
from support.tables.memory_tables import file, snapshot

from sluicegate.api import InvalidRequest, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.errors import NoSuchPlanId, NoSuchPlanTask
from sluicegate.protocols.iceberg_rest.planning import plan_scan as planner_module
from sluicegate.protocols.iceberg_rest.planning import scan_tasks
from sluicegate.protocols.iceberg_rest.planning.candidates import (
    PAGE_FILES,
    LoadedCandidates,
    PlanPage,
    page_size,
    pages,
)
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import (
    UNKNOWN_RECORDS,
    VectorBlob,
    delete_file,
    number_of_records,
)
from sluicegate.protocols.iceberg_rest.planning.selection import (
    MAX_DECISIONS,
    TaskSelection,
    select,
)
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.protocols.iceberg_rest.planning.statistics import Statistics
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FileSet

METADATA = table_metadata(
    [schema_field("id", "long"), schema_field("name", "string"), schema_field("day", "date")], ["day"]
)
OTHER = replace(ACME, id="other")
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "x",
    "offset": 1,
    "sizeInBytes": 40,
    "cardinality": 2,
    "maxRowIndex": 9,
}


def stats(records: int, low: int = 0, high: int = 9) -> str:
    bounds = {"minValues": {"id": low, "name": "a"}, "maxValues": {"id": high, "name": "b"}}
    return orjson.dumps({"numRecords": records, **bounds, "nullCount": {"id": 1}}).decode()


def row(path: str, day: str | None = "2024-01-02", **values: Any) -> dict[str, Any]:
    partition = orjson.dumps({"day": day}).decode()
    return file(path, **{"partition_values": partition, "stats": stats(5), **values})


async def view_of(*rows: dict[str, Any], **options: Any) -> IcebergView:
    return await iceberg_view(METADATA, snapshot(*rows).files, **options)


def request_of(**fields: Any) -> PlanRequest:
    return PlanRequest.parse(
        orjson.dumps({name.replace("_", "-"): value for name, value in fields.items()})
    )


def chosen(view: IcebergView, files: FileSet, request: PlanRequest) -> TaskSelection:
    return select(view, LoadedCandidates(files, METADATA), request)


class Blobs:
    """Says that each vector is a blob of one file."""

    def __init__(self, known: bool = True) -> None:
        self._known = known

    def need_all(self, files: FileSet) -> bool:
        return False

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        return [
            VectorBlob("dv.bin", 1, 48, each["cardinality"], 100) if each and self._known else None
            for each in files.column("deletion_vector").to_pylist()
        ]


@pytest.fixture
def tokens() -> PlanTokens:
    return PlanTokens(TokenSigner(KEYS, 60))


@pytest.fixture
def planner(tokens: PlanTokens) -> ScanPlanner:
    return ScanPlanner(TableReader({}, 0), tokens, {Dialect.STANDARD: Blobs()})


def narrow(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(planner_module, "page_size", lambda residual: size)


async def test_a_plan_lists_the_files_with_typed_partitions(
    planner: ScanPlanner, tokens: PlanTokens
) -> None:
    view = await view_of(row('a"\\\u00e9', size=7), row("b", None))
    response = await body(await planner.plan(view, request_of()))
    assert response.pop("plan-id")
    assert response == {
        "status": "completed",
        "file-scan-tasks": [
            {
                "data-file": {
                    "content": "data",
                    "spec-id": spec_without((), view.shape),
                    "partition": [day],
                    "file-format": "parquet",
                    "file-path": PREFIX + path,
                    "file-size-in-bytes": size,
                    "record-count": 5,
                },
                "residual-filter": True,
            }
            for path, size, day in (('a"\\\u00e9', 7, "2024-01-02"), ("b", 10, None))
        ],
        "delete-files": [],
        "plan-tasks": [],
    }


async def test_an_empty_table_has_an_empty_plan(planner: ScanPlanner) -> None:
    view = await view_of()
    for fields in ({}, {"filter": {"type": "eq", "term": "id", "value": 1}}, {"filter": False}):
        response = await body(await planner.plan(view, request_of(**fields)))
        assert (response["file-scan-tasks"], response["plan-tasks"]) == ([], [])


async def test_partitions_are_decided_and_the_rest_is_pruned_and_left(planner: ScanPlanner) -> None:
    view = await view_of(
        row("hit"),
        row("other day", "2024-01-03"),
        row("null day", None),
        row("other ids", stats=stats(5, 20, 30)),
        row("no stats", stats=None),
    )
    ids = {"type": "lt", "term": "id", "value": 10}
    day = {"type": "eq", "term": "day", "value": "2024-01-02"}
    response = await body(
        await planner.plan(view, request_of(filter={"type": "and", "left": ids, "right": day}))
    )
    assert paths(response) == ["hit", "no stats"]
    assert [task["residual-filter"] for task in response["file-scan-tasks"]] == [ids, ids]
    response = await body(
        await planner.plan(view, request_of(filter={"type": "or", "left": ids, "right": day}))
    )
    left = [
        (path, task["residual-filter"])
        for path, task in zip(paths(response), response["file-scan-tasks"], strict=True)
    ]
    assert left[:4] == [
        ("hit", True),
        ("other day", ids),
        ("null day", ids),
        ("other ids", True),
    ]


async def test_a_filter_of_nothing_leaves_no_file(planner: ScanPlanner) -> None:
    view = await view_of(row("a"), row("b"))
    for nothing in (False, {"type": "eq", "term": "day", "value": "1999-01-01"}):
        response = await body(await planner.plan(view, request_of(filter=nothing)))
        assert paths(response) == []


async def test_rows_of_files_without_counts_are_not_counted_by_clients(planner: ScanPlanner) -> None:
    """PyIceberg adds up `record-count` where nothing is left of the filter."""
    view = await view_of(row("a", stats=None), row("b", stats='{"minValues":{}}'))
    response = await body(await planner.plan(view, request_of()))
    for task in response["file-scan-tasks"]:
        assert task["data-file"]["record-count"] == -1
        assert task["residual-filter"] == {
            "type": "or",
            "left": {"type": "is-null", "term": "id"},
            "right": {"type": "not-null", "term": "id"},
        }


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('{"numRecords":12,"x":1}', 12),
        ('{"numRecords":12}', 12),
        ('{"x":{"numRecords":1},"numRecords": 7}', 7),
        ('{"numRecords":1.5}', UNKNOWN_RECORDS),
        ('{"numRecords":-2}', UNKNOWN_RECORDS),
        ('{"numRecords":true}', UNKNOWN_RECORDS),
        ("{", UNKNOWN_RECORDS),
        ("[]", UNKNOWN_RECORDS),
        (None, UNKNOWN_RECORDS),
    ],
)
def test_records_are_read_from_the_statistics(text: str | None, records: int) -> None:
    assert number_of_records(text) == records


async def test_deletion_vectors_are_delete_files(planner: ScanPlanner) -> None:
    view = await view_of(row("a", deletion_vector=VECTOR), row("b"), row("c", deletion_vector=VECTOR))
    response = await body(await planner.plan(view, request_of()))
    references = [task.get("delete-file-references") for task in response["file-scan-tasks"]]
    assert references == [[0], None, [1]]
    assert response["delete-files"] == [
        {
            "spec-id": spec_without((), view.shape),
            "partition": ["2024-01-02"],
            "content": "position-deletes",
            "file-path": PREFIX + "dv.bin",
            "file-format": "puffin",
            "file-size-in-bytes": 100,
            "record-count": 2,
            "referenced-data-file": PREFIX + path,
            "content-offset": 1,
            "content-size-in-bytes": 48,
        }
        for path in ("a", "c")
    ]
    one = delete_file(VectorBlob("p", 1, 2, 3, 4), "p", "d", b'"spec-id":0,"partition":[]')
    assert orjson.loads(one)["partition"] == []


async def test_a_deletion_vector_is_never_ignored(tokens: PlanTokens) -> None:
    view = await view_of(row("a", deletion_vector=VECTOR))
    blobs = {Dialect.STANDARD: Blobs(known=False)}
    planner = ScanPlanner(TableReader({}, 0), tokens, blobs)
    for dialect in Dialect:
        with pytest.raises(UnsupportedOperation, match="deletion vector"):
            await planner.plan(view, replace(request_of(), dialect=dialect))


async def test_statistics_are_sent_as_requested(planner: ScanPlanner) -> None:
    view = await view_of(row("a", stats=stats(5, -1, 300)), row("b", stats=None))
    response = await body(await planner.plan(view, request_of(stats_fields=["id", "day", "name"])))
    first, second = (task["data-file"] for task in response["file-scan-tasks"])
    assert first["value-counts"] == {"keys": [1, 2], "values": [5, 5]}
    assert first["null-value-counts"] == {"keys": [1], "values": [1]}
    assert first["lower-bounds"] == {"keys": [1, 2], "values": ["F" * 16, "61"]}
    assert first["upper-bounds"] == {"keys": [1, 2], "values": ["2C01" + "0" * 12, "62"]}
    assert not {"value-counts", "lower-bounds", "upper-bounds", "null-value-counts"} & set(second)
    with pytest.raises(InvalidRequest, match="stats-fields: the table has no column named 'x'"):
        await planner.plan(view, request_of(stats_fields=["x"]))


@pytest.mark.parametrize(
    ("kind", "low", "high", "bounds"),
    [
        ("boolean", False, True, ("00", "01")),
        ("integer", 1, 2, ("01000000", "02000000")),
        ("double", 1.5, 2.5, ("000000000000F83F", "0000000000000440")),
        ("decimal(9,2)", -1.28, 1.28, ("80", "0080")),
        ("date", "1970-01-02", "1970-01-03", ("01000000", "02000000")),
        (
            "timestamp",
            "1970-01-01T00:00:00.001Z",
            "1970-01-01T00:00:00.001Z",
            ("E803000000000000", "CF07000000000000"),
        ),
        ("string", "a", "x" * 32 + "\U0010ffff", ("61", None)),
        ("long", 5, 4, (None, None)),
        ("long", "5", None, (None, None)),
        ("binary", "a", "b", (None, None)),
    ],
)
async def test_bounds_are_binary_values(
    kind: str, low: Any, high: Any, bounds: tuple[str | None, str | None]
) -> None:
    metadata = table_metadata([schema_field("v", kind)])
    view = await iceberg_view(metadata, snapshot().files)
    columns = Columns(view.shape, case_sensitive=True)
    text = orjson.dumps({"minValues": {"v": low}, "maxValues": {"v": high}}).decode()
    (members,) = Statistics(metadata, columns, ["v"]).members([text])
    sent = orjson.loads("{" + members[1:] + "}")
    found = [
        sent.get(name, {"values": [None]})["values"][0] for name in ("lower-bounds", "upper-bounds")
    ]
    assert tuple(found) == bounds
    assert Statistics(metadata, columns, ["v"]).members(["{", "[]", None]) == [""] * 3


async def test_all_pages_together_are_the_plan(
    planner: ScanPlanner, tokens: PlanTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 3)
    view = await view_of(
        *(row(f"f{number:02}", f"2024-01-{number % 3 + 1:02}") for number in range(20))
    )
    request = request_of(filter={"type": "not-eq", "term": "day", "value": "2024-01-01"})
    first = await body(await planner.plan(view, request))
    found, sizes = paths(first), []
    for token in first["plan-tasks"]:
        task = tokens.open_task(ACME, view.table.shared, token)
        assert task.request.version == view.snapshot.version
        rest = await body(await planner.tasks(view, task))
        assert rest["plan-tasks"] == []
        assert "status" not in rest
        sizes.append(len(paths(rest)))
        found += paths(rest)
    assert (len(paths(first)), sizes) == (3, [3, 3, 3, 1])
    assert sorted(found) == [f"f{number:02}" for number in range(20) if number % 3]


async def test_large_requests_name_only_the_next_page(
    planner: ScanPlanner, tokens: PlanTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 1)
    view = await view_of(*(row(path) for path in "abcd"))
    request = request_of(filter={"type": "not-eq", "term": "name", "value": "x" * 500_000})
    response = await body(await planner.plan(view, request))
    found = paths(response)
    while response["plan-tasks"]:
        (token,) = response["plan-tasks"]
        task = tokens.open_task(ACME, view.table.shared, token)
        response = await body(await planner.tasks(view, task))
        found += paths(response)
    assert found == ["a", "b", "c", "d"]


def test_pages_of_long_residuals_are_small() -> None:
    assert page_size(0) == PAGE_FILES
    assert page_size(1 << 20) == 15
    assert page_size(1 << 30) == 1
    files = snapshot(row("b"), row("a"), row("c")).files
    assert pages(files, PlanPage("0", "z"), 2) == [PlanPage("0", "b"), PlanPage("b", "z")]
    assert pages(files, PlanPage(), 3) == [PlanPage()]


async def test_sufficient_rows_end_the_plan(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_tasks, "_BATCH_FILES", 1)
    narrow(monkeypatch, 4)
    rows = [row(path, deletion_vector=VECTOR if path == "a" else None) for path in "abcdef"]
    view = await view_of(*rows)
    for wanted, files in ((3, 1), (4, 2), (8, 2), (9, 3), (0, 1)):
        response = await body(await planner.plan(view, request_of(min_rows_requested=wanted)))
        assert (len(paths(response)), response["plan-tasks"]) == (files, [])
    response = await body(await planner.plan(view, request_of(min_rows_requested=100)))
    assert (len(paths(response)), len(response["plan-tasks"])) == (4, 1)
    unsure = request_of(min_rows_requested=1, filter={"type": "lt", "term": "id", "value": 5})
    assert len(paths(await body(await planner.plan(view, unsure)))) == 4


async def test_a_plan_id_plans_the_same_again(planner: ScanPlanner, tokens: PlanTokens) -> None:
    view = await view_of(row("a"), row("b", "2024-01-03"), version=6)
    request = request_of(
        filter={"type": "eq", "term": "DAY", "value": "2024-01-03"}, case_sensitive=False
    )
    response = await body(await planner.plan(view, request))
    again = tokens.open_plan(ACME, view.table.shared, response["plan-id"])
    assert again.belongs_to(view)
    assert again.request == replace(request, snapshot=7)
    assert paths(await body(await planner.plan_again(view, again))) == ["b"]
    replaced = replace(view, snapshot=replace(view.snapshot, version=7))
    with pytest.raises(NoSuchPlanId, match="replaced"):
        await planner.plan_again(replaced, again)
    tokens.cancel(ACME, view.table.shared, response["plan-id"])


async def test_tokens_belong_to_one_recipient_table_and_purpose(
    planner: ScanPlanner, tokens: PlanTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 1)
    view = await view_of(row("a"), row("b"))
    response = await body(await planner.plan(view, request_of()))
    shared, plan_id, (task,) = view.table.shared, response["plan-id"], response["plan-tasks"]
    for principal, table in ((OTHER, shared), (ACME, shared_table("other"))):
        with pytest.raises(NoSuchPlanId):
            tokens.open_plan(principal, table, plan_id)
        with pytest.raises(NoSuchPlanId):
            tokens.cancel(principal, table, plan_id)
        with pytest.raises(NoSuchPlanTask):
            tokens.open_task(principal, table, task)
    for wrong in ("", "x", task, plan_id[:-4]):
        with pytest.raises(NoSuchPlanId):
            tokens.open_plan(ACME, shared, wrong)
    with pytest.raises(NoSuchPlanTask):
        tokens.open_task(ACME, shared, plan_id)
    expired = PlanTokens(TokenSigner(KEYS, -1))
    with pytest.raises(NoSuchPlanTask, match="expired"):
        expired.open_task(ACME, shared, expired.plan_task(view, request_of(), PlanPage()))


async def test_a_replaced_table_ends_its_plan_tasks(planner: ScanPlanner, tokens: PlanTokens) -> None:
    view = await view_of(row("a"))
    task = tokens.open_task(
        ACME, view.table.shared, tokens.plan_task(view, request_of(), PlanPage("a", None))
    )
    replaced = replace(view.snapshot, metadata=replace(METADATA, id="another"))
    with pytest.raises(NoSuchPlanTask, match="replaced"):
        await planner.tasks(replace(view, snapshot=replaced), task)
    assert paths(await body(await planner.tasks(view, task))) == []


async def test_ids_of_large_requests_are_short_and_only_for_cancelling(tokens: PlanTokens) -> None:
    view = await view_of(row("a"))
    names = [f"{number:x}" * 7 for number in range(1000)]
    large = request_of(filter={"type": "in", "term": "name", "values": names})
    plan_id = tokens.plan_id(view, large)
    assert len(plan_id) < 200
    tokens.cancel(ACME, view.table.shared, plan_id)
    with pytest.raises(NoSuchPlanId, match="too large to be fetched again"):
        tokens.open_plan(ACME, view.table.shared, plan_id)


async def test_hidden_partitions_are_not_decided() -> None:
    view = await view_of(row("a"), row("hidden", "no date"), row("b", "2024-01-03"))
    day = request_of(filter={"type": "not-eq", "term": "day", "value": "2024-01-03"})
    with pytest.raises(UnsupportedOperation, match="'day' this Iceberg client cannot read"):
        chosen(view, view.files, day)
    shown = view.files.where(pa.array([True, False, True]))
    assert [each.column("path").to_pylist() for each in chosen(view, shown, day).files.batches(9)] == [
        ["a"]
    ]


async def test_too_many_decisions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    view = await view_of(*(row(f"f{day}", f"2024-01-{day:02}") for day in range(1, 31)))
    days = [{"type": "eq", "term": "day", "value": number} for number in range(10)]
    node: dict[str, Any] = days[0]
    for day in days[1:]:
        node = {"type": "or", "left": node, "right": day}
    request = request_of(filter=node)
    assert len(chosen(view, view.files, request).files) == 0
    assert MAX_DECISIONS > 300
    monkeypatch.setattr("sluicegate.protocols.iceberg_rest.planning.selection.MAX_DECISIONS", 299)
    hidden = view.files.where(pa.array([True] * 29 + [False]))
    assert len(chosen(view, hidden, request).files) == 0  # 290 decisions
    with pytest.raises(InvalidRequest, match=r"10 tests of partition columns, too many for .* 30"):
        chosen(view, view.files, request)
