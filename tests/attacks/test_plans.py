"""Plans of Iceberg clients that are made to cost the gateway more than they are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import SHARE

FILES = 2_000
_AT_ONCE = 3
_GROWTH = 400_000_000  # bytes
_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("a_long_name_of_id", "long"), ("name", "string"), ("part", "integer"))
    ],
}
_ID = "a_long_name_of_id"
_STATS = {"numRecords": 9, "minValues": {_ID: 1}, "maxValues": {_ID: 9}, "nullCount": {_ID: 0}}


@pytest.fixture(scope="module")
def path(attacked: Attacked) -> str:
    """The address of a table that has a partition for each file."""
    table = attacked.lake.table()
    log = table.root / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_bytes(b"".join(orjson.dumps(action) + b"\n" for action in _actions()))
    return (
        f"{attacked.lake.gateway.address}/iceberg/v1/shares/{SHARE}/namespaces/full/tables/{table.name}"
    )


def _actions() -> Iterator[dict[str, Any]]:
    yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    yield {
        "metaData": {
            "id": "t",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": orjson.dumps(_SCHEMA).decode(),
            "partitionColumns": ["part"],
            "configuration": {},
        }
    }
    for number in range(FILES):
        yield {
            "add": {
                "path": f"{number}.parquet",
                "partitionValues": {"part": str(number)},
                "size": 1_000,
                "modificationTime": 0,
                "dataChange": True,
                "stats": orjson.dumps(_STATS).decode(),
            }
        }


def test_a_plan_has_every_file(attacked: Attacked, path: str) -> None:
    plan = attacked.attacker.post(f"{path}/plan", json={})
    assert len(plan.json()["file-scan-tasks"]) == FILES


@pytest.mark.parametrize(
    ("statuses", "fields"),
    [
        pytest.param(
            {400},
            lambda: {
                "filter": _different({"type": "not-in", "term": "name", "values": _names(90_000)})
            },
            id="long-residuals",
        ),
        pytest.param(
            {400}, lambda: {"filter": _different(*map(_at_least, range(5_000)))}, id="many-residuals"
        ),
        pytest.param(
            {400},
            lambda: {"filter": _joined("or", [_bucket(number) for number in range(900)])},
            id="transforms",
        ),
        pytest.param(
            {200},
            lambda: {"filter": {"type": "in", "term": _ID, "values": list(range(100_000))}},
            id="in",
        ),
    ],
)
def test_costly_plans_leave_the_gateway_to_others(
    attacked: Attacked, path: str, statuses: set[int], fields: Any
) -> None:
    body = orjson.dumps(fields())
    assert len(body) < 2_000_000

    def ask(_: int) -> int:
        return attacked.attacker.post(f"{path}/plan", content=body).status_code

    with attacked.watched() as watch, ThreadPoolExecutor(_AT_ONCE) as clients:
        answered = Counter(clients.map(ask, range(_AT_ONCE)))
    watch.check(_GROWTH)
    assert set(answered) == statuses


def _different(*others: Any) -> Any:
    """A filter of which another part is left in each of 500 partitions."""
    first = [
        _joined("or", [{"type": "eq", "term": "part", "value": number}, _at_least(-number)])
        for number in range(500)
    ]
    return _joined("and", [*first, *others])


def _joined(kind: str, nodes: list[Any]) -> Any:
    """A tree that is as flat as possible."""
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    return {
        "type": kind,
        "left": _joined(kind, nodes[:middle]),
        "right": _joined(kind, nodes[middle:]),
    }


def _at_least(value: int) -> Any:
    return {"type": "gt-eq", "term": _ID, "value": value}


def _bucket(number: int) -> Any:
    term = {"type": "transform", "transform": f"bucket[{number + 1}]", "term": "part"}
    return {"type": "eq", "term": term, "value": 0}


def _names(count: int) -> list[str]:
    return [f"{number:016}" for number in range(count)]
