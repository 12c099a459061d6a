"""Whatever the rows and the filter: plans drop no file with a match, and decide partitions exactly."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gateways.memory_gateway import KEYS
from support.process.random_cases import cases
from support.tables.filesets import kept
from support.tables.iceberg_views import body, iceberg_filter, iceberg_view, paths
from support.tables.predicate_tables import Table, tables, trees
from support.tables.predicate_trees import Named, Row, Semantics, Tree, json_hint

from sluicegate.api import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FileSet

# Types whose partition values are exact in the log, and that Iceberg clients can read in a plan.
EXACT = (
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "decimal(9,2)",
    "decimal(18,4)",
    "decimal(38,10)",
    "string",
    "date",
    "timestamp_ntz",
)
generously = settings(
    max_examples=cases(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


async def planned(table: Table, tree: Tree, files: FileSet | None = None) -> dict[str, Any]:
    view = await iceberg_view(table.metadata, table.files if files is None else files)
    planner = ScanPlanner(TableReader({}, 0), PlanTokens(TokenSigner(KEYS, 60)), {})
    fields = {"filter": iceberg_filter(tree), "case-sensitive": False}
    return await body(await planner.plan(view, PlanRequest.parse(orjson.dumps(fields))))


def expressible(tree: Any) -> bool:
    """Whether JSON has all literals of a filter, which it lacks for NaN and infinity."""
    try:
        json.dumps(iceberg_filter(tree), allow_nan=False)
    except ValueError:
        return False
    return True


def without_ambiguous_partitions(table: Table) -> bool:
    """Writers can omit the zone of a timestamp from the log. Iceberg has no such values."""
    return all(named.kind.delta != "timestamp" for named in table.partitions)


@given(data=st.data())
@generously
async def test_no_file_with_a_matching_row_is_dropped(data: st.DataObject) -> None:
    table = data.draw(tables().filter(without_ambiguous_partitions))
    columns = [*table.columns, *table.partitions]
    tree = data.draw(trees(table, columns, casts=False).filter(expressible))
    try:
        answered = set(map(int, paths(await planned(table, tree))))
    except UnsupportedOperation:  # a partition of NaN or infinity
        return
    for nan_is_largest in (True, False):
        assert table.matching(tree, Semantics(nan_is_largest, table.zone)) <= answered
    assert answered <= kept(table.files, table.metadata, json_hint=json_hint(tree))


@given(data=st.data())
@generously
async def test_filters_of_partition_columns_are_decided_exactly(data: st.DataObject) -> None:
    table = data.draw(tables(partitions_only=True, kinds=EXACT))
    tree = data.draw(trees(table, table.partitions, casts=False))
    response = await planned(table, tree)
    assert set(map(int, paths(response))) == table.matching(tree, Semantics(True, table.zone))
    assert all(task["residual-filter"] is True for task in response["file-scan-tasks"])


@given(data=st.data())
@generously
async def test_a_residual_is_true_for_the_same_rows_as_the_filter(data: st.DataObject) -> None:
    table = data.draw(tables(kinds=EXACT))
    columns = [*table.columns, *table.partitions]
    tree = data.draw(trees(table, columns, casts=False))
    response = await planned(table, tree)
    for number, task in zip(map(int, paths(response)), response["file-scan-tasks"], strict=True):
        residual = task["residual-filter"]
        for row in table.rows[number]:
            wanted = tree.truth(row, Semantics(True, table.zone)) is True
            assert (truth(residual, row, columns) is True) is wanted


@given(data=st.data())
@generously
async def test_plans_name_visible_files_only(data: st.DataObject) -> None:
    table = data.draw(tables(kinds=EXACT))
    tree = data.draw(trees(table, [*table.columns, *table.partitions], casts=False))
    count = len(table.rows)
    mask = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    answered = set(map(int, paths(await planned(table, tree, table.files.where(pa.array(mask))))))
    everything = set(map(int, paths(await planned(table, tree))))
    assert answered == {number for number in everything if mask[number]}


def truth(node: Any, row: Row, columns: Sequence[Named]) -> bool | None:
    """What SQL says of a residual for a row."""
    if isinstance(node, bool):
        return node
    if node["type"] in ("and", "or"):
        sides = [truth(node[side], row, columns) for side in ("left", "right")]
        decisive = bool(node["type"] == "or")
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    names = {".".join(each.path).casefold(): each for each in columns}
    named = names.get(node["term"].casefold())
    if named is None:  # a struct in the residual of a file without a row count; structs are not null
        return bool(node["type"] == "not-null")
    value = row[named.key]
    if node["type"] in ("is-null", "not-null"):
        return (value is None) is (node["type"] == "is-null")
    if value is None:
        return None
    literal = type(value)(node["value"]) if isinstance(value, Decimal) else node["value"]
    if isinstance(value, date):  # datetimes are dates, too
        literal = type(value).fromisoformat(node["value"])
    return COMPARED[node["type"]](value, literal)


COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "not-eq": operator.ne,
    "lt": operator.lt,
    "lt-eq": operator.le,
    "gt": operator.gt,
    "gt-eq": operator.ge,
}
