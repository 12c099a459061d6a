"""Files of a Delta log that cost their reader far more than their writer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from support.clients.bystander import memory
from support.gateways.attacked import LOW_BYTES, LOW_ROWS, Attacked
from support.gateways.shared_lake import LakeTable
from support.process.random_cases import times
from support.tables.deltalog import add, metadata, protocol

_MB = 1_000_000
_GB = 1_000 * _MB
# What any query may take: a few requests' worth of buffers, and what the allocator rounds up.
SMALL = 100 * _MB
HEAD = (protocol(), metadata())


def query(attacked: Attacked, table: LakeTable, **body: object) -> httpx.Response:
    """What the attacker's own query of its table is answered with."""
    return attacked.attacker.post(f"{table.path()}/query", json=body)


def unreadable(answer: httpx.Response) -> str:
    """The message of an answer that says that the table cannot be read."""
    assert answer.status_code == 400, answer.text[:500]
    error = answer.json()
    assert error["errorCode"] == "TABLE_UNREADABLE"
    return str(error["message"])


@pytest.fixture
def table(attacked: Attacked) -> LakeTable:
    """A table of the attacker, with one file."""
    table = attacked.lake.table()
    table.folder.commit(0, *HEAD, add("a.parquet"))
    return table


def _touch(log: Path, name: str) -> None:
    (log / name).write_text("")


@pytest.mark.parametrize(
    "name",
    [
        f"{1:020}.{0:020}.compacted.json",
        f"{0:020}.{0:020}.compacted.json",
        f"{0:020}.{'9' * 20}.compacted.json",
        f"{'9' * 20}.json",
        f"{2**63:020}.checkpoint.parquet",
        f"{0:020}.checkpoint.{1:010}.{'9' * 10}.parquet",
        f"{0:020}.checkpoint.{0:010}.{1:010}.parquet",
    ],
)
def test_a_name_that_no_writer_gives_is_not_a_file_of_the_log(
    attacked: Attacked, table: LakeTable, name: str
) -> None:
    table.folder.commit(1, add("b.parquet"))
    table.folder.commit(2, add("c.parquet"))
    _touch(table.folder.log, name)
    with attacked.watched() as watch:
        answer = query(attacked, table)
    watch.check(growth=SMALL)
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["delta-table-version"] == "2"
    assert len(answer.text.splitlines()) == 5


def _write_lines(path: Path, action: Mapping[str, Any], size: int) -> None:
    """Repeat one line until the file has about so many bytes."""
    line = orjson.dumps(action) + b"\n"
    block = line * max(1, _MB // len(line))
    with path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)


def _hole(path: Path, size: int) -> None:
    """A file of so many zero bytes that takes no room."""
    with path.open("wb") as file:
        file.truncate(size)


def test_a_hint_of_a_gigabyte_is_not_read(attacked: Attacked, table: LakeTable) -> None:
    _hole(table.folder.log / "_last_checkpoint", _GB)
    with attacked.watched() as watch:
        answer = query(attacked, table)
    watch.check(growth=SMALL)
    assert answer.status_code == 200, answer.text[:500]


def test_a_commit_of_one_line_of_a_gigabyte_is_not_read_to_its_end(
    attacked: Attacked, table: LakeTable
) -> None:
    _hole(table.folder.log / f"{1:020}.json", _GB)
    with attacked.watched() as watch:
        message = unreadable(query(attacked, table))
    watch.check(growth=SMALL)
    assert f"{1:020}.json has a line of more than" in message


@pytest.mark.skipif(times() == 1, reason="runs at night")
def test_a_commit_of_a_gigabyte_ends_at_the_default_limit_of_entries(
    attacked: Attacked, table: LakeTable
) -> None:
    path = table.folder.log / f"{1:020}.json"
    _write_lines(path, {"commitInfo": {"by": "somebody who writes a line of no use for readers"}}, _GB)
    with attacked.watched() as watch:
        message = unreadable(query(attacked, table))
    path.unlink()
    watch.check(growth=SMALL)
    assert "10000000 entries of metadata" in message
    assert path.name in message
    assert "limits.table.rows" in message


@pytest.mark.parametrize(
    ("action", "limit"),
    [
        ({"remove": {"path": "a"}}, f"{LOW_ROWS} entries"),
        ({"commitInfo": {"by": "a writer"}}, f"{LOW_ROWS} entries of metadata"),
        ({"sidecar": {"path": "a.parquet", "sizeInBytes": 1}}, f"{LOW_ROWS} entries"),
        (add("a" * 1000), f"{LOW_BYTES} bytes"),
        (add("a", stats="s" * 10_000), f"{LOW_BYTES} bytes"),
        ({"metaData": {"id": ["x"] * 500_000}}, f"{LOW_BYTES} bytes"),
    ],
    ids=["removes", "lines of no use", "sidecars", "long paths", "statistics", "long lines"],
)
def test_a_commit_ends_at_what_its_actions_take(
    limited: Attacked, action: Mapping[str, Any], limit: str
) -> None:
    table = limited.lake.table()
    table.folder.commit(0, *HEAD, add("a.parquet"))
    path = table.folder.log / f"{1:020}.json"
    _write_lines(path, action, 90 * _MB)
    with limited.watched() as watch:
        message = unreadable(query(limited, table))
    watch.check(growth=SMALL + LOW_BYTES)
    assert limit in message
    assert path.name in message


def test_what_was_read_in_vain_is_given_back(limited: Attacked) -> None:
    process = limited.lake.gateway.process.pid
    used = []
    for _ in range(4):
        table = limited.lake.table()
        table.folder.commit(0, *HEAD)
        _write_lines(table.folder.log / f"{1:020}.json", add("a" * 1000), 90 * _MB)
        unreadable(query(limited, table))
        used.append(memory(process, "VmRSS"))
    assert used[-1] < used[0] + SMALL // 2  # what one reading took would be more


@pytest.mark.parametrize(
    "path",
    [
        "_delta_log/00000000000000000000.json",
        "./_delta_log/00000000000000000000.json",
        "day=1/../_delta_log//00000000000000000000.json",
        "%5Fdelta_log/00000000000000000000.json",
        "a%09b.parquet",
        "a\nb.parquet",
        "a%7Fb.parquet",
        "x" * 5000,
        "",
        ".",
    ],
)
def test_a_file_that_cannot_be_shared_is_refused_at_the_query(attacked: Attacked, path: str) -> None:
    table = attacked.lake.table()
    table.folder.commit(0, *HEAD, add("a.parquet"), add(path))
    assert "names a file that cannot be shared" in unreadable(query(attacked, table))
    table.folder.commit(1, add("b.parquet"), {"remove": {"path": path, "deletionTimestamp": 1}})
    assert query(attacked, table).status_code == 200


@pytest.mark.parametrize("path", ["./x.parquet", "a//x.parquet", "a/../x.parquet", "a/./%2e/x.parquet"])
def test_a_path_that_is_not_normal_is_normalized(attacked: Attacked, path: str) -> None:
    table = attacked.lake.table()
    table.folder.commit(0, *HEAD, add(path))
    for name in ("x.parquet", "a/x.parquet"):
        (table.root / name).parent.mkdir(exist_ok=True)
        (table.root / name).write_text("rows")
    (url,) = [
        orjson.loads(line)["file"]["url"] for line in query(attacked, table).text.splitlines()[2:]
    ]
    assert httpx.get(url).text == "rows"


@pytest.mark.parametrize(
    "vector",
    [
        {"storageType": "p", "pathOrInlineDv": "{root}/_delta_log/00000000000000000000.json"},
        {"storageType": "p", "pathOrInlineDv": "{root}/a\tb"},
        {"storageType": "p"},
        {"pathOrInlineDv": "x"},
        {"storageType": "u", "pathOrInlineDv": "\x7f" + "0" * 20},
    ],
)
def test_a_deletion_vector_that_cannot_be_shared_is_refused(
    attacked: Attacked, vector: dict[str, str]
) -> None:
    table = attacked.lake.table()
    placed = {name: value.replace("{root}", f"file://{table.root}") for name, value in vector.items()}
    table.folder.commit(
        0,
        protocol(3, "deletionVectors"),
        metadata(),
        add("a.parquet", deletionVector={**placed, "sizeInBytes": 1, "cardinality": 1}),
    )
    headers = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors"}
    answer = attacked.attacker.post(f"{table.path()}/query", json={}, headers=headers)
    unreadable(answer)


@pytest.mark.parametrize("link", ["a.parquet", "day=1"])
def test_a_link_to_another_tables_file_is_refused_at_the_query(attacked: Attacked, link: str) -> None:
    table, other = attacked.lake.table(), attacked.lake.table()
    other.folder.commit(0, *HEAD, add("a.parquet"))
    (other.root / "a.parquet").write_text("secret")
    path = "a.parquet" if link == "a.parquet" else "day=1/a.parquet"
    table.folder.commit(0, *HEAD, add(path))
    (url,) = [
        orjson.loads(line)["file"]["url"] for line in query(attacked, table).text.splitlines()[2:]
    ]
    (table.root / link).symlink_to(other.root / "a.parquet" if link == path else other.root)
    again = query(attacked, table, limitHint=1000)  # not an answer that was made before
    for answer in (again, httpx.get(url)):
        assert answer.status_code == 403
        assert answer.json()["message"] == (
            "the location contains a symbolic link, which local storage does not follow; ask the "
            "table's owner to replace the link with the file or directory itself"
        )


def _nested(levels: int) -> dict[str, Any]:
    kind: Any = "long"
    for _ in range(levels):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    return {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}


def _field(**values: Any) -> str:
    return orjson.dumps({"type": "struct", "fields": [values]}).decode()


@pytest.mark.parametrize(
    "values",
    [
        {"schemaString": orjson.dumps(_nested(120)).decode()},
        {"schemaString": '{"type":"array","elementType":' * 900 + '"long"' + "}" * 900},
        {"schemaString": "[1,2]"},
        {"schemaString": "{"},
        {"schemaString": {"type": "struct", "fields": []}},
        {"schemaString": _field(type="long", metadata={})},
        {"schemaString": _field(name=7, type="long", metadata={})},
        {"schemaString": _field(name="a", metadata={})},
        {"schemaString": _field(name="a", type="long", metadata=[1])},
        {"schemaString": _field(name="a", type={"type": "map"}, metadata={})},
        {"schemaString": _field(name="a", type="decimal(38,999999999)", metadata={})},
        {"partitionColumns": "abc"},
        {"partitionColumns": [1]},
        {"configuration": ["a"]},
        {"configuration": {"delta.enableChangeDataFeed": True}},
        {"format": "parquet"},
        {"id": 7},
        {"name": {}},
        {"createdTime": "now"},
    ],
    ids=str,
)
def test_metadata_of_another_shape_are_unreadable(attacked: Attacked, values: dict[str, Any]) -> None:
    table = attacked.lake.table()
    table.folder.commit(0, protocol(), {"metaData": {**metadata()["metaData"], **values}}, add("a"))
    message = unreadable(query(attacked, table))
    assert message == f"the Delta log's {0:020}.json is damaged"


@pytest.mark.parametrize(
    "action",
    [
        {"protocol": {"minReaderVersion": "one", "minWriterVersion": 2}},
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [[]]}},
        {"protocol": [1]},
        {"commitInfo": {"inCommitTimestamp": "now"}},
        {"commitInfo": {"inCommitTimestamp": 1 << 62}},
        add("a", partitionValues={"p": 1}),
        add("a", partitionValues=[1]),
        add("a", stats={}),
        add("a", size="big"),
        [1, 2],
        {"add": [1]},
    ],
    ids=str,
)
def test_actions_of_another_shape_are_unreadable(attacked: Attacked, action: Any) -> None:
    table = attacked.lake.table()
    table.folder.commit(0, *HEAD, add("a"))
    table.folder.commit(1, action)
    assert f"{1:020}.json is damaged" in unreadable(query(attacked, table))
