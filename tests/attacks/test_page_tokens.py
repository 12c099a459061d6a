"""A page token can be read by its holder: it shows nothing of what a filter hides."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import LakeTable

SIGNATURE_BYTES = 16
VISIBLE = [("DE", part) for part in range(3)]


def pages(attacked: Attacked, table: LakeTable, way: str) -> tuple[list[str], list[Any]]:
    """What the pages of a filtered table show: ids of partitions, and what their tokens hold."""
    parts: list[str] = []
    states: list[Any] = []
    token = None
    while True:
        answer = ask(attacked, table, way, token)
        lines = [orjson.loads(line) for line in answer.splitlines()]
        files = [file for line in lines for key, file in line.items() if key in ("add", "file")]
        parts += [file["partitionValues"]["part"] for file in files]
        token = lines[-1]["endStreamAction"].get("nextPageToken")
        if token is None:
            return parts, states
        body = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[SIGNATURE_BYTES:]
        states.append(orjson.loads(body) | {"exp": 0})


def ask(attacked: Attacked, table: LakeTable, way: str, token: str | None) -> str:
    wanted: dict[str, Any] = {"maxFiles": 1} | ({"pageToken": token} if token else {})
    path = table.path("german")
    if way == "changes":
        answer = attacked.attacker.get(f"{path}/changes", params={"startingVersion": 0, **wanted})
    else:
        body = wanted | ({"startingVersion": 0} if way == "stream" else {})
        answer = attacked.attacker.post(f"{path}/query", json=body)
    assert answer.status_code == 200, answer.text
    return answer.text


def written(attacked: Attacked, hidden: list[str]) -> LakeTable:
    table = attacked.lake.table()
    rows = VISIBLE + [(country, part) for country in hidden for part in range(4)]
    write_deltalake(
        table.root,
        pa.table(
            {
                "country": [c for c, _ in rows],
                "part": [str(p) for _, p in rows],
                "id": list(range(len(rows))),
            }
        ),
        partition_by=["country", "part"],
        configuration={"delta.enableChangeDataFeed": "true"},
    )
    return table


@pytest.fixture(scope="module")
def tables(attacked: Attacked) -> list[LakeTable]:
    """The same to a recipient, with nothing hidden and with much."""
    return [written(attacked, hidden) for hidden in ([], ["AT", "FR", "US"])]


@pytest.mark.parametrize("way", ["changes", "stream", "snapshot"])
def test_tokens_do_not_count_hidden_files(
    attacked: Attacked, tables: list[LakeTable], way: str
) -> None:
    plain, filtered = (pages(attacked, table, way) for table in tables)
    assert sorted(filtered[0]) == ["0", "1", "2"]
    assert len(filtered[1]) == 2
    if way == "snapshot":  # these go on behind a path, which names its file
        assert all("country=DE" in state["after"] for state in filtered[1])
    else:
        assert plain[1] == filtered[1]
