"""Tables by what their logs hold: checkpoints of every kind, changes of the state, odd paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from support.tables.deltalog import Action, add, protocol, remove
from support.tables.reader_tables.folder import TableFolder
from support.tables.reader_tables.served import ReaderTable, Served
from support.tables.reader_tables.values import rows_of

_SCHEMA = pa.schema({"id": pa.int64()})
_V2_PROTOCOL = protocol(3, "v2Checkpoint")
_V2 = {"delta__checkpointPolicy": "v2", "delta__checkpointInterval": "3"}
_INFO: Action = {"commitInfo": {"operation": "Manual Update", "isBlindAppend": True}}
_ABSOLUTE = "/some/absolute/path"


def _checkpointed(
    root: Path,
    write: Callable[[TableFolder, str, Sequence[Action], Sequence[Action]], None],
    v2: bool,
) -> None:
    """Five commits with a file each, of which two go again; a checkpoint of the first four."""
    table, rows = TableFolder(root, _SCHEMA), rows_of(_SCHEMA, range(5))
    head = [_V2_PROTOCOL, table.metadata(**_V2)] if v2 else [protocol(), table.metadata()]
    adds = [table.file(f"part {number}.parquet", [row]) for number, row in enumerate(rows)]
    table.log.commit(0, _INFO, *head, adds[0])
    for version in (1, 2):
        table.log.commit(version, adds[version])
    table.log.commit(3, adds[3], remove(adds[0]["add"]["path"]))
    write(table, f"{3:020}.checkpoint", head, adds[1:4])
    table.log.commit(4, adds[4], remove(adds[3]["add"]["path"]))
    table.expect([rows[1], rows[2], rows[4]])


def _in_parts(table: TableFolder, name: str, head: Sequence[Action], adds: Sequence[Action]) -> None:
    for number, actions in enumerate((head, adds[:2], adds[2:]), 1):
        table.log.parquet(f"{name}.{number:010}.{3:010}.parquet", actions)
    table.log.hint('{"version":3,"size":5,"parts":3}')


def _with_sidecars(
    table: TableFolder, name: str, head: Sequence[Action], adds: Sequence[Action], *, suffix: str
) -> None:
    file = f"{name}.80a083e8-7026-4e79-81be-64bd76c43a11.{suffix}"
    # Spark looks for a sidecar by its name as it is, so that it finds none that URLs escape.
    sidecars = table.log.sidecars(adds[:2], adds[2:], stem="part-")
    actions = [{"checkpointMetadata": {"version": 3}}, *head, *sidecars]
    if suffix == "json":
        table.log.lines(file, actions)
    else:
        table.log.parquet(file, actions)
    table.log.hint(json.dumps({"version": 3, "size": len(actions), "v2Checkpoint": {"path": file}}))


def _many_commits(root: Path) -> None:
    """A file with each commit, which the next one removes, and a checkpoint on the way."""
    table = TableFolder(root, _SCHEMA)
    head = [protocol(), table.metadata()]
    for version in range(15):
        before = [remove(str(version))] if version else []
        first = head if not version else []
        table.log.commit(version, _INFO, *first, add(str(version + 1)), *before)
        if version == 10:
            table.log.parquet(f"{version:020}.checkpoint.parquet", [*head, add("11")])
            table.log.hint('{"version":10,"size":3}')


def _checkpoint_at_the_start(root: Path) -> None:
    """A commit without a schema, and its checkpoint."""
    table = TableFolder(root, _SCHEMA)
    state = [protocol(), _without_schema(table.metadata()), *(add(str(number)) for number in range(10))]
    table.log.commit(0, _INFO, *state)
    table.log.parquet(f"{0:020}.checkpoint.parquet", state)
    table.log.hint('{"version":0,"size":12}')


def _commit_info(root: Path) -> None:
    """A commit of another writer: fields of `commitInfo` that Delta does not know, and no schema."""
    table = TableFolder(root, _SCHEMA)
    job = {"jobId": "1", "triggerType": "manual"}
    info = {"commitInfo": {"timestamp": 1, "userId": "u", "job": job, "readVersion": -1}}
    table.log.commit(0, _without_schema(table.metadata()), protocol(), info, add("abc"))


def _without_schema(metadata: Action) -> Action:
    values = metadata["metaData"]
    return {"metaData": {name: value for name, value in values.items() if name != "schemaString"}}


def _removed(root: Path, added: str, removed: str) -> None:
    """A file that a commit adds by one spelling of its path, and the next one removes by another."""
    table = TableFolder(root, _SCHEMA)
    table.log.commit(0, _INFO, protocol(), table.metadata(), add(added))
    table.log.commit(1, remove(removed))
    table.expect([])


def _kept(root: Path) -> None:
    """Files at paths that URLs escape."""
    table = TableFolder(root, _SCHEMA)
    table.log.commit(0, protocol(), table.metadata(), add("special%20p@%23h"), add("a%2520b=c+d/e"))


def _later_state(root: Path, features: Sequence[str] = ()) -> None:
    """The protocol rises and a column comes, each with a file that was written by then."""
    small = TableFolder(root, pa.schema({"col1": pa.int64()}))
    grown = TableFolder(root, pa.schema({"col1": pa.int64(), "col2": pa.int64()}))
    rows = [{"col1": number, "col2": None} for number in range(3)]
    more = [{"col1": number, "col2": number} for number in range(3, 6)]
    small.log.commit(0, _INFO, protocol(), small.metadata(), small.file("a.parquet", rows))
    grown.log.commit(1, grown.metadata(), grown.file("b.parquet", more))
    raised = protocol(3, "appendOnly", *features)
    raised["protocol"]["readerFeatures"] = list(features)
    grown.log.commit(2, raised, grown.metadata(delta__appendOnly="true"))
    grown.expect([*rows, *more])


def _repartitioned(root: Path, versions: int) -> None:
    """The table is written once more, by another partition column."""
    by_five = pa.schema({"id": pa.int64(), "part5": pa.int64()})
    by_two = pa.schema({"id": pa.int64(), "part2": pa.int64()})
    first = TableFolder(root, by_five, partitioned_by=["part5"])
    rows = [{"id": number, "part5": number % 5} for number in range(10)]
    adds = [first.file(f"{row['id']}.parquet", [row]) for row in rows]
    first.log.commit(0, protocol(), first.metadata(), *adds)
    first.expect(rows)
    if versions == 1:
        return
    second = TableFolder(root, by_two, partitioned_by=["part2"])
    rows = [{"id": number, "part2": number % 2} for number in range(4)]
    news = [second.file(f"{row['id']}.parquet", [row]) for row in rows]
    second.log.commit(1, second.metadata(), *news, *(remove(old["add"]["path"]) for old in adds))
    second.expect(rows)


_VACUUM = ("vacuumProtocolCheck",)
_NO_FILE = Served(stand_ins=())
TABLES = {
    "checkpoint-in-parts": ReaderTable(partial(_checkpointed, write=_in_parts, v2=False)),
    "checkpoint-v2-in-parquet": ReaderTable(
        partial(_checkpointed, write=partial(_with_sidecars, suffix="parquet"), v2=True)
    ),
    "checkpoint-v2-in-json": ReaderTable(
        partial(_checkpointed, write=partial(_with_sidecars, suffix="json"), v2=True)
    ),
    "checkpoint-and-many-commits": ReaderTable(_many_commits, Served(stand_ins=["15"])),
    "checkpoint-at-the-start": ReaderTable(
        _checkpoint_at_the_start, Served(stand_ins=[str(number) for number in range(10)])
    ),
    "commit-info-of-another-writer": ReaderTable(_commit_info, Served(stand_ins=["abc"])),
    "path-absolute": ReaderTable(
        partial(_removed, added=_ABSOLUTE, removed=f"file:{_ABSOLUTE}"), _NO_FILE
    ),
    "path-absolute-with-authority": ReaderTable(
        partial(_removed, added=_ABSOLUTE, removed=f"file://{_ABSOLUTE}"), _NO_FILE
    ),
    "path-absolute-and-escaped": ReaderTable(
        partial(_removed, added="/some/with%20space/p@%23h", removed="file:/some/with%20space/p@%23h"),
        _NO_FILE,
    ),
    "path-escaped-and-removed": ReaderTable(
        partial(_removed, added="special%20p@%23h", removed="special%20p@%23h")
    ),
    "path-escaped": ReaderTable(_kept, Served(stand_ins=["special p@#h", "a%20b=c+d/e"])),
    "state-changed": ReaderTable(_later_state),
    "state-changed-to-vacuum-protocol-check": ReaderTable(partial(_later_state, features=_VACUUM)),
    "repartitioned-0": ReaderTable(partial(_repartitioned, versions=1)),
    "repartitioned-1": ReaderTable(partial(_repartitioned, versions=2)),
}
