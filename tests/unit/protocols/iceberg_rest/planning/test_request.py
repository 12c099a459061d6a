"""Bodies of requests for plans."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sluicegate.api.errors import InvalidRequest, MalformedRequest
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import AnyOf, TermTest, column_tests
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest, parse_plan_task


def parsed(**fields: Any) -> PlanRequest:
    body = {name.replace("_", "-"): value for name, value in fields.items()}
    return PlanRequest.parse(orjson.dumps(body))


def test_an_empty_body_requests_everything_of_the_latest_snapshot() -> None:
    for request in (PlanRequest.parse(b""), PlanRequest.parse(b"{}")):
        assert (request.version, request.start_version, request.filter) == (None, None, True)
        assert (request.select, request.stats_fields, request.min_rows) == ((), (), None)
        assert (request.case_sensitive, request.snapshot_schema) == (True, False)


def test_all_fields_are_read() -> None:
    request = parsed(
        start_snapshot_id=3,
        end_snapshot_id=5,
        select=["a", "b", "a"],
        filter=False,
        case_sensitive=False,
        use_snapshot_schema=True,
        stats_fields=["b"],
        min_rows_requested=10,
    )
    assert (request.version, request.start_version, request.after) == (4, 2, 3)
    assert (request.select, request.stats_fields, request.min_rows) == (("a", "b"), ("b",), 10)
    assert (request.filter, request.case_sensitive, request.snapshot_schema) == (False, False, True)
    assert parsed(snapshot_id=1).version == 0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"snapshot_id": "3"}, "snapshot-id must be a whole number"),
        ({"snapshot_id": True}, "snapshot-id must be a whole number"),
        ({"snapshot_id": 0}, "snapshot-id must be between 1"),
        ({"snapshot_id": 1, "start_snapshot_id": 1, "end_snapshot_id": 2}, "cannot be combined"),
        ({"start_snapshot_id": 1}, "must be sent together"),
        ({"end_snapshot_id": 1}, "must be sent together"),
        ({"start_snapshot_id": 3, "end_snapshot_id": 2}, "must not be after"),
        ({"select": "a"}, "select must be a list of strings"),
        ({"select": [1]}, "select must be a list of strings"),
        ({"stats_fields": {}}, "stats-fields must be a list of strings"),
        ({"stats_fields": ["x"] * 20_001}, "stats-fields has more than 20000 names"),
        ({"case_sensitive": 1}, "case-sensitive must be true or false"),
        ({"use_snapshot_schema": "no"}, "use-snapshot-schema must be true or false"),
        ({"min_rows_requested": -1}, "min-rows-requested must be between 0"),
        ({"min_rows_requested": 1.5}, "min-rows-requested must be a whole number"),
        ({"filter": None}, "filter must consist of"),
    ],
)
def test_wrong_fields_are_named(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        parsed(**fields)


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_other_bodies_are_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        PlanRequest.parse(body)
    with pytest.raises(MalformedRequest):
        parse_plan_task(body)


def test_a_plan_task_is_a_string() -> None:
    assert parse_plan_task(b'{"plan-task": "x"}') == "x"
    for body in (b"{}", b'{"plan-task": 1}'):
        with pytest.raises(InvalidRequest, match="plan-task must be a string"):
            parse_plan_task(body)


def test_a_negated_equality_is_null_safe_but_for_pyiceberg() -> None:
    equal = {"type": "eq", "term": "a", "value": 1}
    body = orjson.dumps({"filter": {"type": "not", "child": equal}})
    assert isinstance(PlanRequest.parse(body).filter, AnyOf)
    assert isinstance(PlanRequest.parse(body, Dialect.PYICEBERG).filter, TermTest)


def test_equal_requests_have_the_same_source_regardless_of_the_snapshot() -> None:
    assert parsed(snapshot_id=1, filter=False).source == parsed(filter=False, unknown=1).source


def test_a_filter_can_be_a_chain_that_is_nested_deeply() -> None:
    equal = '{"type":"eq","term":"a","value":1}'
    chain = '{"type":"and","left":' * 900 + equal + f',"right":{equal}}}' * 900
    request = PlanRequest.parse(f'{{"select":["a"],"filter":{chain}}}'.encode())
    assert len(list(column_tests(request.filter))) == 901
    assert PlanRequest.parse(request.source) == request
