"""Plans from kept members of tasks are byte for byte those that are encoded for the request."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import KEYS
from support.process.random_cases import cases
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import body, iceberg_view
from support.tables.memory_tables import Row, file, snapshot

from sluicegate.api import SluicegateError
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader

METADATA = table_metadata([schema_field("id", "long"), schema_field("day", "date")], ["day"])
DAYS = ("2024-01-02", "2024-01-03", None)
VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 4, "cardinality": 2}
DAY: Mapping[str, Any] = {"type": "eq", "term": "day", "value": "2024-01-02"}
ID: Mapping[str, Any] = {"type": "gt", "term": "id", "value": 40}
REQUESTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"filter": DAY},
    {"filter": ID},
    {"filter": {"type": "or", "left": DAY, "right": ID}},
    {"filter": DAY, "min-rows-requested": 100},
    {"stats-fields": ["id"]},
)


def row(number: int, values: random.Random, unlike: Mapping[str, Any]) -> Row:
    low = values.randrange(100)
    records, bounds = values.randrange(50), {"minValues": {"id": low}, "maxValues": {"id": low + 9}}
    partition = orjson.dumps({"day": values.choice(DAYS)}).decode()
    odd = unlike if number == 5 else {}
    path = values.choice((f"f{number}", f'a b/"{number}"', f"é{number}"))
    stats = orjson.dumps({"numRecords": records, **bounds}).decode()
    return file(path, **{"partition_values": partition, "stats": stats, "size": number, **odd})


async def planned(planner: ScanPlanner, view: IcebergView, fields: Mapping[str, Any]) -> Any:
    try:
        response = await body(await planner.plan(view, PlanRequest.parse(orjson.dumps(fields))))
    except SluicegateError as error:
        return repr(error)
    del response["plan-id"]  # has the time
    return response


@pytest.mark.parametrize("seed", range(cases(12)))
@pytest.mark.parametrize("unlike", [{}, {"stats": None}, {"deletion_vector": VECTOR}])
async def test_kept_members_change_no_plan(seed: int, unlike: Mapping[str, Any]) -> None:
    values = random.Random(seed)
    rows = [row(number, values, unlike) for number in range(values.randrange(6, 600))]
    view = await iceberg_view(METADATA, snapshot(*rows).files)
    readers = [TableReader({}, room) for room in (1 << 20, 0)]
    tokens = PlanTokens(TokenSigner(KEYS, 60))
    kept, fresh = (ScanPlanner(reader, tokens, dict[Dialect, Any]()) for reader in readers)
    for fields in REQUESTS:
        expected = await planned(fresh, view, fields)
        assert [await planned(kept, view, fields) for _ in range(3)] == [expected] * 3
    assert readers[1].encoded.nbytes == 0
    assert unlike or readers[0].encoded.nbytes > 0
