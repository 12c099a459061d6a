"""Files of a Delta log that were changed at random: the table is read, or refused for a reason."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import orjson
from support.process.process_memory import resident_bytes
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove, vector

from sluicegate.api import ObjectDirectory
from sluicegate.api.budget import Budget, TableLimits
from sluicegate.api.errors import SluicegateError
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.features import feature_needs

CASES = "SLUICEGATE_FUZZ_FILES"
SEED = "SLUICEGATE_FUZZ_SEED"
_DEFAULT = 75
_LIMITS = TableLimits(bytes=50_000_000, rows=100_000, seconds=20)
_UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
_ODD: Sequence[object] = (
    None, True, 0, -1, 1 << 62, 1.5, "", "x", "../y", "a\tb", "\x00", "é" * 700, [], {}, [1, 2],
    {"a": 1}, "file:///etc/passwd", "_delta_log/x", "{", '{"type":"struct"}', "9" * 40,
)  # fmt: skip


def _write(folder: DeltaFolder) -> list[Path]:
    """A log with a checkpoint of each kind, and commits before and behind it."""
    head = [protocol(3, "v2Checkpoint", "deletionVectors"), metadata(partitioned_by=["p"])]
    files = [
        add(f"p={number}/a.parquet", partitionValues={"p": str(number)}, stats='{"numRecords":1}')
        for number in range(4)
    ]
    deleted = add("b.parquet", partitionValues={"p": None}, deletionVector=vector("0" * 20))
    written = [folder.commit(0, *head, *files)]
    written.append(folder.commit(1, deleted, {"commitInfo": {"inCommitTimestamp": 5}}))
    written.append(folder.parquet(f"{1:020}.checkpoint.parquet", [*head, *files, deleted]))
    sidecars = folder.sidecars(files)
    written.append(folder.lines(f"{2:020}.checkpoint.{_UUID}.json", [*head, *sidecars, deleted]))
    written += sorted((folder.log / "_sidecars").iterdir())
    written.append(folder.commit(2, remove("b.parquet", deletionVector=vector("0" * 20))))
    written.append(folder.commit(3, add("c.parquet", partitionValues={"p": "1"})))
    written.append(folder.compaction(2, 3, add("c.parquet", partitionValues={"p": "1"})))
    folder.hint('{"version":1}')
    return [*written, folder.log / "_last_checkpoint"]


def _mutated(data: bytes, choice: random.Random) -> bytes:
    """The bytes with some of them changed, left out, doubled, or a JSON value replaced."""
    changed = bytearray(data)
    kind = choice.randrange(5)
    if kind == 0 and (lines := data.splitlines()):
        number = choice.randrange(len(lines))
        try:
            lines[number] = orjson.dumps(_replaced(orjson.loads(lines[number]), choice))
        except orjson.JSONDecodeError:
            return bytes(changed[: choice.randrange(len(changed))])
        return b"\n".join(lines)
    for _ in range(choice.randint(1, 8)):
        position = choice.randrange(len(changed) or 1)
        if kind == 1:
            changed[position : position + 1] = bytes([choice.randrange(256)])
        elif kind == 2:
            changed[position:position] = changed[position : position + choice.randint(1, 40)]
        elif kind == 3:
            del changed[position : position + choice.randint(1, 40)]
        else:
            footer = max(0, len(changed) - choice.randint(1, 600))  # where Parquet is most fragile
            changed[footer : footer + 1] = bytes([choice.randrange(256)])
    return bytes(changed)


def _replaced(value: object, choice: random.Random) -> object:
    """A JSON value with one of its parts replaced by an odd one."""
    if isinstance(value, dict) and value and choice.random() < 0.8:
        key = choice.choice(sorted(value))
        return {**value, key: _replaced(value[key], choice)}
    if isinstance(value, list) and value and choice.random() < 0.8:
        number = choice.randrange(len(value))
        return [*value[:number], _replaced(value[number], choice), *value[number + 1 :]]
    return choice.choice(_ODD)


async def _read(folder: DeltaFolder) -> None:
    """What a query and a change feed do with a log, each with a budget to itself."""
    opened = folder.directory

    def limited() -> ObjectDirectory:
        return ObjectDirectory(opened.store, opened.prefix, Budget(_LIMITS))

    form, table = DeltaFormat(), folder.table()
    snapshot = await form.latest(table, limited(), None)
    feature_needs(snapshot)
    for _ in snapshot.files.batches(1000):
        pass
    changes = await form.changes(table, limited(), snapshot, 1, snapshot.version)
    async for _ in changes.files("feed", 1):
        pass


async def _refusal(folder: DeltaFolder, case: str) -> SluicegateError | None:
    """Why a log is not read, or `None` where it is."""
    try:
        await _read(folder)
    except SluicegateError as error:
        return error
    except Exception as error:  # whatever else comes is what this looks for
        error.add_note(case)
        raise
    return None


async def test_a_damaged_log_is_read_or_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    cases = int(os.environ.get(CASES, _DEFAULT))
    choice = random.Random(int(os.environ.get(SEED, "11")))
    folder = DeltaFolder(tmp_path / "t")
    originals = {path: path.read_bytes() for path in _write(folder)}
    early = 0
    for number in range(cases):
        path = choice.choice(list(originals))
        path.write_bytes(_mutated(originals[path], choice))
        hidden = [each for each in originals if choice.random() < 0.2 and each != path]
        for each in hidden:
            each.unlink()
        refused = await _refusal(folder, f"case {number}: {path.name}")
        assert refused is None or refused.status in (400, 404, 503), (number, path.name, refused)
        for each in (path, *hidden):
            each.write_bytes(originals[each])
        if number == min(1000, cases // 2):
            early = resident_bytes()
    print(f"{cases} cases, memory {early} -> {resident_bytes()}")
    assert resident_bytes() <= 1.1 * early
