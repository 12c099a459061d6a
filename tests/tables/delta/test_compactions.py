"""Log compactions and checkpoints that contradict the log, or lack a part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol, remove, vector
from support.tables.snapshots import at_version, latest, paths, rows

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.parts.live_files import latest_checkpointed_version
from sluicegate.tables.delta.parts.version import latest_delta_version
from sluicegate.tables.snapshot import Snapshot

HEAD = [protocol(3, "v2Checkpoint", "deletionVectors"), metadata()]
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
OTHER = add("other.parquet")
MARKED = add("a.parquet", deletionVector=vector("x"))

# Actions of a compaction of versions 1 to 3, in any order, which a reader cannot reconcile.
REPEATED: dict[str, list[Action]] = {
    "removed and added": [remove("a.parquet"), add("a.parquet")],
    "added and removed": [add("b.parquet"), remove("b.parquet")],
    "added twice": [add("b.parquet"), add("b.parquet", size=11)],
    "removed twice": [remove("a.parquet"), remove("a.parquet"), add("b.parquet")],
    "added and removed with a vector": [remove("a.parquet"), MARKED, remove(**MARKED["add"])],
    "another spelling": [remove("a.parquet"), add("a%2Eparquet")],
    "two schemas": [metadata("first"), remove("a.parquet"), metadata("second")],
    "two protocols": [protocol(), remove("a.parquet"), protocol(2)],
}
DAMAGED = {
    "torn": '{"remove": {"path": "a.parquet"}}\n{"add": {"path": "b.par',
    "not JSON": "PAR1",
    "an add without a size": '{"remove": {"path": "a.parquet"}}\n{"add": {"path": "b.parquet"}}',
    "a remove without a path": '{"remove": {"path": null}}',
    "a file in the log": '{"add": {"path": "_delta_log/b.parquet", "size": 1}}',
    "a metadata action without an id": '{"metaData": {}}',
}


def commits(folder: DeltaFolder) -> None:
    """Five versions; in version 3 `b.parquet` and `other.parquet` are live."""
    folder.commit(0, *HEAD, add("a.parquet"), OTHER)
    folder.commit(1, add("b.parquet", size=1))
    folder.commit(2, remove("b.parquet"), MARKED, remove("a.parquet"))
    folder.commit(3, remove(**MARKED["add"]), add("b.parquet"))
    folder.commit(4, add("c.parquet"))


def said(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.version, snapshot.protocol, snapshot.metadata, rows(snapshot)


async def by_commits(folder: DeltaFolder) -> object:
    reference = DeltaFolder(folder.root.with_name("reference"))
    commits(reference)
    return said(await latest(reference))


@pytest.mark.parametrize("case", REPEATED)
async def test_a_compaction_that_names_something_twice_gives_way_to_its_commits(
    folder: DeltaFolder, case: str
) -> None:
    commits(folder)
    for order in (1, -1):
        folder.compaction(1, 3, *REPEATED[case][::order])
        assert said(await latest(folder)) == await by_commits(folder)


@pytest.mark.parametrize("case", DAMAGED)
async def test_a_damaged_compaction_gives_way_to_its_commits(folder: DeltaFolder, case: str) -> None:
    commits(folder)
    folder.compaction(1, 3).write_text(DAMAGED[case])
    assert said(await latest(folder)) == await by_commits(folder)
    assert paths(await at_version(folder, 3)) == ["b.parquet", "other.parquet"]


async def test_files_that_share_a_path_but_no_vector_are_no_repetition(folder: DeltaFolder) -> None:
    commits(folder)
    folder.compaction(1, 3, remove("a.parquet"), remove(**MARKED["add"]), add("from the compaction"))
    assert paths(await latest(folder)) == ["c.parquet", "from the compaction", "other.parquet"]


@pytest.mark.parametrize("text", [DAMAGED["torn"], None])
async def test_a_compaction_without_its_commits_is_refused_by_its_name(
    folder: DeltaFolder, text: str | None
) -> None:
    commits(folder)
    path = folder.compaction(1, 3, *REPEATED["removed and added"])
    if text is not None:
        path.write_text(text)
    (folder.log / f"{2:020}.json").unlink()
    with pytest.raises(TableUnreadable, match=path.name):
        await latest(folder)


@pytest.mark.parametrize("case", REPEATED)
async def test_a_snapshot_advances_by_the_commits(folder: DeltaFolder, case: str) -> None:
    folder.commit(0, *HEAD, add("a.parquet"), OTHER)
    first = await latest(folder)
    commits(folder)
    folder.compaction(1, 3, *REPEATED[case])
    assert said(await latest(folder, first)) == await by_commits(folder)


async def test_a_snapshot_that_cannot_advance_is_loaded_from_a_checkpoint(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a.parquet"), OTHER)
    first = await latest(folder)
    commits(folder)
    folder.compaction(1, 3, *REPEATED["removed and added"])
    (folder.log / f"{2:020}.json").unlink()
    checkpoint = [*HEAD, add("b.parquet"), OTHER, *(add(f"x{number}") for number in range(50))]
    folder.parquet(f"{3:020}.checkpoint.parquet", checkpoint)
    assert len((await latest(folder, first)).files) == 53


@pytest.mark.parametrize("text", [*DAMAGED.values(), None])
async def test_changes_start_without_a_compaction_that_cannot_be_used(
    folder: DeltaFolder, text: str | None
) -> None:
    commits(folder)
    folder.commit(2, metadata("second"))
    path = folder.compaction(1, 3, metadata("compacted"), metadata("second"))
    if text is not None:
        path.write_text(text)
    format, table = DeltaFormat(), folder.table()
    snapshot = await latest(folder)
    assert snapshot.metadata.id == "second"
    changes = await format.changes(table, folder.directory, snapshot, 4, 4)
    assert changes.start.metadata.id == "second"


def classic(folder: DeltaFolder, actions: list[Action]) -> None:
    folder.parquet(f"{4:020}.checkpoint.parquet", actions)


def multi_part(folder: DeltaFolder, actions: list[Action]) -> None:
    for part, each in enumerate((actions, [add("more")]), 1):
        folder.parquet(f"{4:020}.checkpoint.{part:010}.{2:010}.parquet", each)


def v2_json(folder: DeltaFolder, actions: list[Action]) -> None:
    folder.lines(f"{4:020}.checkpoint.{UUID}.json", [*actions, *folder.sidecars([add("more")])])


def v2_parquet(folder: DeltaFolder, actions: list[Action]) -> None:
    folder.parquet(f"{4:020}.checkpoint.{UUID}.parquet", [*actions, *folder.sidecars([add("more")])])


Write = Callable[[DeltaFolder, list[Action]], None]
INCOMPLETE = {"protocol": [HEAD[1], add("x")], "metadata": [HEAD[0], add("x")], "any": [add("x")]}


@pytest.mark.parametrize("lacks", INCOMPLETE)
@pytest.mark.parametrize("write", [classic, multi_part, v2_json, v2_parquet])
@pytest.mark.parametrize("hinted", [True, False])
async def test_a_version_needs_protocol_and_metadata_of_its_checkpoint_or_of_later_commits(
    folder: DeltaFolder, write: Write, lacks: str, hinted: bool
) -> None:
    """As for other readers, earlier commits don't count, even if the log still has all of them."""
    commits(folder)
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, MARKED, OTHER])
    before = await latest(folder)
    write(folder, INCOMPLETE[lacks])
    if hinted:
        folder.hint('{"version": 4}')
    message = (
        f"no {'metadata' if lacks == 'metadata' else 'protocol'} action in its checkpoint of version 4"
    )
    table, directory = folder.table(), folder.directory
    reads: list[Callable[[], Awaitable[object]]] = [
        lambda: latest(folder),
        lambda: at_version(folder, 4),
        lambda: DeltaFormat().changes(table, directory, before, 4, 4),
        lambda: latest_delta_version(table, directory),
        lambda: latest_checkpointed_version(table, directory),
    ]
    for read in reads:
        with pytest.raises(TableUnreadable, match=message):
            await read()
    assert said(await at_version(folder, 3))[0] == 3  # its checkpoint is another one
    folder.commit(5, *HEAD, add("d.parquet"))
    found = await latest(folder)
    assert (found.version, found.metadata.id) == (5, "t")
    assert {"d.parquet", "x"} <= {*paths(found)}
    assert (await latest_delta_version(table, directory)).metadata.id == "t"


async def test_a_snapshot_in_memory_is_continued_by_commits(folder: DeltaFolder) -> None:
    commits(folder)
    before = await latest(folder)
    folder.commit(5, add("d.parquet"))
    folder.parquet(f"{5:020}.checkpoint.parquet", INCOMPLETE["metadata"])
    small = f"{5:020}.json"
    assert (folder.log / small).stat().st_size < (
        folder.log / f"{5:020}.checkpoint.parquet"
    ).stat().st_size
    assert (await latest(folder, before)).version == 5
