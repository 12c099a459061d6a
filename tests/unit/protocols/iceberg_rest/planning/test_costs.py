"""Plans that are made to cost the gateway much: their work is bounded, and not on the event loop."""

from __future__ import annotations

import threading
from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import KEYS
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import body, iceberg_view, paths
from support.tables.memory_tables import file, snapshot

from sluicegate._util.limited_threads import LimitedThreads
from sluicegate.api import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning import scan_tasks, selection
from sluicegate.protocols.iceberg_rest.planning.expressions import decisions
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import TaskEncoder
from sluicegate.protocols.iceberg_rest.planning.statistics import Statistics
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader

COLUMNS = [f"c{number}" for number in range(40)]
METADATA = table_metadata(
    [*(schema_field(name, "long") for name in COLUMNS), schema_field("part", "integer")], ["part"]
)
STATS = orjson.dumps({"numRecords": 3, "minValues": {"c1": 1}, "maxValues": {"c1": 9}}).decode()


@pytest.fixture
def planner() -> ScanPlanner:
    return ScanPlanner(TableReader({}, 0), PlanTokens(TokenSigner(KEYS, 60)), {})


async def view_of(partitions: int) -> IcebergView:
    """A table with one file in each partition."""
    files = (
        file(f"f{number}", partition_values=f'{{"part":"{number}"}}', stats=STATS)
        for number in range(partitions)
    )
    return await iceberg_view(METADATA, snapshot(*files).files)


def request_of(**fields: Any) -> PlanRequest:
    return PlanRequest.parse(
        orjson.dumps({name.replace("_", "-"): value for name, value in fields.items()})
    )


def joined(kind: str, *nodes: Any) -> Any:
    """A chain of nodes."""
    chain, *others = nodes
    for node in others:
        chain = {"type": kind, "left": chain, "right": node}
    return chain


def different_everywhere(partitions: int, rest: Any) -> Any:
    """A filter of which another part is left in each partition."""
    tests = [
        joined(
            "or",
            {"type": "eq", "term": "part", "value": number},
            {"type": "gt", "term": COLUMNS[number], "value": 0},
        )
        for number in range(partitions)
    ]
    return joined("and", *tests, rest)


DATA = {"type": "not-null", "term": "c1"}


async def test_different_residuals_are_limited_by_their_expressions(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await view_of(20)
    request = request_of(filter=different_everywhere(20, DATA))
    assert len(paths(await body(await planner.plan(view, request)))) == 20
    size = 1 + 20 * 3 + 1  # each `or` has two tests
    monkeypatch.setattr(decisions, "MAX_SIMPLIFIED", 20 * size)
    assert len(paths(await body(await planner.plan(view, request)))) == 20
    monkeypatch.setattr(decisions, "MAX_SIMPLIFIED", 20 * size - 1)
    with pytest.raises(InvalidRequest, match="filter has 62 expressions, and too many different parts"):
        await planner.plan(view, request)


async def test_different_residuals_are_limited_by_their_bytes(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"type": "not-in", "term": "c1", "values": list(range(10, 1_000))}
    request = request_of(filter=different_everywhere(20, values))
    assert len(paths(await body(await planner.plan(await view_of(20), request)))) == 20
    monkeypatch.setattr(selection, "MAX_RESIDUALS_BYTES", 15 * len(request.source))
    with pytest.raises(InvalidRequest, match="filter has many values, and too many different parts"):
        await planner.plan(await view_of(20), request)
    assert len(paths(await body(await planner.plan(await view_of(5), request)))) == 5


async def test_transforms_count_more_than_other_tests(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = {"type": "gt-eq", "term": "part", "value": 0}
    transform = {"type": "transform", "transform": "truncate[10]", "term": "part"}
    request = request_of(filter=joined("and", test, test | {"term": transform}))
    monkeypatch.setattr(selection, "MAX_DECISIONS", 20 * 5)
    assert len(paths(await body(await planner.plan(await view_of(20), request)))) == 20
    with pytest.raises(InvalidRequest, match=r"2 tests of partition columns, too many for .* 21 part"):
        await planner.plan(await view_of(21), request)


async def test_a_column_of_many_names_has_one_set_of_statistics(planner: ScanPlanner) -> None:
    view = await view_of(1)
    request = request_of(stats_fields=["c1", "C1", "c2"], case_sensitive=False)
    response = await body(await planner.plan(view, request))
    [task] = response["file-scan-tasks"]
    assert task["data-file"]["lower-bounds"]["values"] == ["01" + 14 * "0"]
    columns = Columns(view.shape, case_sensitive=False)
    assert Statistics(METADATA, columns, ["c1", "C1", "c2"]).columns == 2


async def test_batches_are_smaller_for_many_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [await batch_files(names) for names in (None, COLUMNS[:4], COLUMNS)]
    assert sizes == [256, 256, 42]
    monkeypatch.setattr(scan_tasks, "_FEW_COLUMNS", 0.01)
    assert await batch_files(COLUMNS) == 1


async def test_batches_are_smaller_for_long_residuals() -> None:
    lengths = (1, 4_000, 8_191, 500_000, 5_000_000)
    assert [await batch_files(None, b"x" * each) for each in lengths] == [256, 256, 128, 2, 1]


async def batch_files(names: list[str] | None, residual: bytes = b"true") -> int:
    """The batches of a plan with these statistics and this residual."""
    view = await view_of(1)
    columns = Columns(view.shape, case_sensitive=True)
    statistics = None if names is None else Statistics(METADATA, columns, names)
    selected = selection.TaskSelection(view.files, {}, residual)
    partitions = PartitionReader(view.shape)
    encoder = TaskEncoder(view, selected, statistics, None, partitions, LimitedThreads(1))
    return encoder.batch_files


async def test_statistics_are_encoded_in_a_thread(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, made, encoded = set(), Statistics.__init__, Statistics.members

    def noting(function: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            threads.add(threading.get_ident())
            return function(*arguments)

        return noted

    monkeypatch.setattr(Statistics, "__init__", noting(made))
    monkeypatch.setattr(Statistics, "members", noting(encoded))
    await body(await planner.plan(await view_of(3), request_of()))
    assert not threads
    await body(await planner.plan(await view_of(3), request_of(stats_fields=COLUMNS)))
    assert threads
    assert threading.get_ident() not in threads
