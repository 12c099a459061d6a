"""Filters made of random parts: each is planned, or refused with a reason."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gateways.memory_gateway import KEYS
from support.process.random_cases import cases
from support.tables.filesets import file_set, schema_field, table_metadata
from support.tables.iceberg_views import body, iceberg_view

from sluicegate.api import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Op
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader

TYPES = {
    "flag": "boolean",
    "count": "integer",
    "price": "decimal(9,2)",
    "ratio": "float",
    "name": "string",
    "day": "date",
    "at": "timestamp",
    "raw": "binary",
}
PARTITION = {
    "flag": "true",
    "count": "5",
    "price": "1.50",
    "ratio": "0.5",
    "name": "a",
    "day": "2024-01-02",
    "at": "2024-01-02T03:04:05Z",
    "raw": "x",
}
METADATA = table_metadata(
    [schema_field("id", "long"), *(schema_field(*each) for each in TYPES.items())], list(TYPES)
)
FILES = file_set([(orjson.dumps(PARTITION).decode(), '{"numRecords":1}')])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.sampled_from(["", "5", "1e999999", "2024-01-02", "0A", "nan", "_", "9" * 400]),
    st.text(max_size=4).filter(lambda text: text.isprintable()),
)
names = st.sampled_from(["id", *TYPES, "missing", ""])
terms = st.one_of(
    names,
    scalars,
    st.fixed_dictionaries(
        {"type": st.sampled_from(["reference", "transform", "apply", "x"])},
        optional={
            "term": names,
            "name": names,
            "id": scalars,
            "transform": st.sampled_from(["identity", "bucket[4]", "void", 5]),
            "function": st.sampled_from(["year", "bucket", {"identifier": []}, ["identity"], 5]),
            "arguments": st.lists(st.one_of(names, scalars), max_size=2),
        },
    ),
)
kinds = st.sampled_from([*(op.value for op in Op), "and", "or", "not", "true", "literal", "LT", "x"])
literals = st.one_of(scalars, st.fixed_dictionaries({"type": st.just("literal"), "value": scalars}))
filters = st.recursive(
    st.one_of(
        st.booleans(),
        scalars,
        st.fixed_dictionaries(
            {"type": kinds, "term": names, "value": literals, "values": st.lists(literals, max_size=3)}
        ),
        st.fixed_dictionaries(
            {"type": kinds}, optional={"term": terms, "left": terms, "child": terms, "value": literals}
        ),
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": kinds}, optional={"left": inner, "right": inner, "child": inner}
    ),
    max_leaves=6,
)


@given(node=filters, sensitive=st.booleans())
@settings(max_examples=cases(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_every_filter_is_planned_or_refused(node: Any, sensitive: bool) -> None:
    view = await iceberg_view(METADATA, FILES)
    planner = ScanPlanner(TableReader({}, 0), PlanTokens(TokenSigner(KEYS, 60)), {})
    try:
        text = orjson.dumps({"filter": node, "case-sensitive": sensitive})
        request = PlanRequest.parse(text)
        response = await body(await planner.plan(view, request))
    except InvalidRequest:
        return
    for task in response["file-scan-tasks"]:
        left = {"filter": task["residual-filter"], "case-sensitive": sensitive}
        again = PlanRequest.parse(orjson.dumps(left), Dialect.PYICEBERG)
        assert again.filter is not False
