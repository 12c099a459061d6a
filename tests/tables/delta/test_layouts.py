"""One table state, written in every layout that the log allows, reads the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove, vector
from support.tables.snapshots import at_version, latest, paths, rows

from sluicegate.api.errors import InvalidRequest, NotFound, TableUnreadable
from sluicegate.tables.snapshot import Snapshot

HEAD = [protocol(3, "v2Checkpoint", "deletionVectors"), metadata(partitioned_by=["p"])]
A = add("p=1/a%20b.parquet", partitionValues={"p": "1"}, stats='{"numRecords":3}', tags={"k": "v"})
B = add("b.parquet", partitionValues={"p": None})
B_DELETED = add("b.parquet", partitionValues={"p": None}, deletionVector=vector("x"))
C = add("c.parquet", partitionValues={"p": 'quote " and \\'})
OLD = add("old.parquet")
COMMITS = [
    [*HEAD, A, OLD],
    [B],
    [remove("b.parquet"), B_DELETED],
    [remove("old.parquet"), C],
]
AT_2 = [*HEAD, A, OLD, B_DELETED, remove("gone.parquet")]
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


CLASSIC_NAME, V2_NAME = f"{3:020}.checkpoint.parquet", f"{3:020}.checkpoint.{UUID}.parquet"


def commits(folder: DeltaFolder, first: int = 0) -> None:
    for version, actions in enumerate(COMMITS):
        if version >= first:
            folder.commit(version, *actions)


def classic(folder: DeltaFolder) -> None:
    commits(folder, 2)
    folder.parquet(f"{2:020}.checkpoint.parquet", AT_2)


def multi_part(folder: DeltaFolder) -> None:
    commits(folder, 3)
    for part in range(3):
        name = f"{2:020}.checkpoint.{part + 1:010}.{3:010}.parquet"
        folder.parquet(name, AT_2[part::3])


def v2_json(folder: DeltaFolder) -> None:
    commits(folder, 3)
    sidecars = folder.sidecars([A, OLD], [B_DELETED, remove("gone.parquet")])
    folder.lines(
        f"{2:020}.checkpoint.{UUID}.json", [{"checkpointMetadata": {"version": 2}}, *HEAD, *sidecars]
    )


def v2_parquet(folder: DeltaFolder) -> None:
    commits(folder, 3)
    sidecars = folder.sidecars([A], [OLD])
    folder.parquet(f"{2:020}.checkpoint.{UUID}.parquet", [*HEAD, B_DELETED, *sidecars])


def v2_classic_name(folder: DeltaFolder) -> None:
    commits(folder, 3)
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, *folder.sidecars([A, OLD, B_DELETED])])


def compacted(folder: DeltaFolder) -> None:
    commits(folder)
    folder.compaction(1, 2, remove("b.parquet"), B_DELETED)
    (folder.log / f"{1:020}.json").write_text("never read")


def compacted_to_the_end(folder: DeltaFolder) -> None:
    commits(folder)
    folder.compaction(1, 3, remove("b.parquet"), B_DELETED, remove("old.parquet"), C)
    folder.compaction(1, 2, remove("b.parquet"), B_DELETED)


def checkpoint_of_the_latest(folder: DeltaFolder) -> None:
    folder.commit(3, *COMMITS[3])
    folder.parquet(f"{3:020}.checkpoint.parquet", [*HEAD, A, B_DELETED, C])


def only_a_checkpoint(folder: DeltaFolder) -> None:
    folder.parquet(f"{3:020}.checkpoint.parquet", [*HEAD, A, B_DELETED, C])


def two_checkpoints(damaged_name: str, other_name: str) -> Callable[[DeltaFolder], None]:
    """Of one version, each in one file; only a name can tell them apart."""

    def write(folder: DeltaFolder) -> None:
        only_a_checkpoint(folder)
        (folder.log / CLASSIC_NAME).rename(folder.log / other_name)
        (folder.log / damaged_name).write_bytes(b"PAR1 nonsense PAR1")

    return write


def hinted(text: str) -> Callable[[DeltaFolder], None]:
    def write(folder: DeltaFolder) -> None:
        classic(folder)
        folder.hint(text)

    return write


def missing_part(folder: DeltaFolder) -> None:
    classic(folder)
    folder.parquet(f"{3:020}.checkpoint.{1:010}.{2:010}.parquet", [*HEAD, A])
    folder.hint('{"version": 3, "parts": 2}')


def missing_sidecar(folder: DeltaFolder) -> None:
    classic(folder)
    gone = {"sidecar": {"path": "gone.parquet", "sizeInBytes": 9, "modificationTime": 1}}
    folder.lines(f"{3:020}.checkpoint.{UUID}.json", [*HEAD, gone])


def damaged(content: bytes) -> Callable[[DeltaFolder], None]:
    def write(folder: DeltaFolder) -> None:
        commits(folder)
        (folder.log / f"{3:020}.checkpoint.parquet").write_bytes(content)
        folder.hint('{"version": 3}')

    return write


def noise(folder: DeltaFolder) -> None:
    classic(folder)
    for name in (
        f"{3:020}.crc",
        f".{3:020}.json.crc",
        f"{9:020}.json.tmp",
        "9.json",
        f"_staged_commits/{9:020}.{UUID}.json",
    ):
        path = folder.log / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("noise")


LAYOUTS = {
    "commits": commits,
    "classic": classic,
    "multi-part": multi_part,
    "v2 json": v2_json,
    "v2 parquet": v2_parquet,
    "v2 of a classic name": v2_classic_name,
    "compacted": compacted,
    "compacted to the end": compacted_to_the_end,
    "checkpoint of the latest": checkpoint_of_the_latest,
    "only a checkpoint": only_a_checkpoint,
    "damaged checkpoint of a classic name, and one of a v2 name": two_checkpoints(
        CLASSIC_NAME, V2_NAME
    ),
    "damaged checkpoint of a v2 name, and one of a classic name": two_checkpoints(
        V2_NAME, CLASSIC_NAME
    ),
    "hint": hinted('{"version": 2, "size": 5}'),
    "hint too late": hinted('{"version": 7}'),
    "hint without its checkpoint": hinted('{"version": 3}'),
    "hint too early": hinted('{"version": 0}'),
    "hint cut off": hinted('{"version": '),
    "hint of another type": hinted('["version"]'),
    "hint empty": hinted(""),
    "missing part": missing_part,
    "missing sidecar": missing_sidecar,
    "damaged checkpoint": damaged(b"PAR1 nonsense PAR1"),
    "empty checkpoint": damaged(b""),
    "files that are no part of the log": noise,
}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_layout_gives_the_same_snapshot(folder: DeltaFolder, layout: str) -> None:
    LAYOUTS[layout](folder)
    snapshot = await latest(folder)
    assert snapshot.version == 3
    assert snapshot.protocol.reader_features == ("v2Checkpoint", "deletionVectors")
    assert snapshot.metadata.partition_columns == ("p",)
    assert snapshot.metadata.configuration == {}
    plain: dict[str, int | None] = {
        "base_row_id": None,
        "default_row_commit_version": None,
        "clustering_provider": None,
        "spelled_path": None,
    }
    plain |= {"size": 10, "modification_time": 5}
    no_row_index = {**vector("x"), "maxRowIndex": None}
    assert rows(snapshot) == [
        {
            **plain,
            "path": "b.parquet",
            "partition_values": {"p": None},
            "stats": None,
            "tags": None,
            "deletion_vector": no_row_index,
        },
        {
            **plain,
            "path": "c.parquet",
            "partition_values": {"p": 'quote " and \\'},
            "stats": None,
            "tags": None,
            "deletion_vector": None,
        },
        {
            **plain,
            "path": "p=1/a b.parquet",
            "spelled_path": "p=1/a%20b.parquet",
            "partition_values": {"p": "1"},
            "stats": {"numRecords": 3},
            "tags": {"k": "v"},
            "deletion_vector": None,
        },
    ]


@pytest.mark.parametrize("layout", ["commits", "classic", "v2 json", "compacted to the end"])
async def test_an_older_version_is_rebuilt(folder: DeltaFolder, layout: str) -> None:
    LAYOUTS[layout](folder)
    assert paths(await at_version(folder, 2)) == ["b.parquet", "old.parquet", "p=1/a b.parquet"]


@pytest.mark.parametrize("version", [-1, 0, 1, 4, 10**30])
async def test_a_version_out_of_range_is_refused_with_the_range(
    folder: DeltaFolder, version: int
) -> None:
    classic(folder)
    with pytest.raises(InvalidRequest, match="versions 2 to 3 can be read"):
        await at_version(folder, version)


async def test_partitions_share_one_dictionary_entry(folder: DeltaFolder) -> None:
    files = [add(f"{number}", partitionValues={"p": str(number % 2)}) for number in range(40)]
    folder.commit(0, *HEAD, *files)
    column = (await latest(folder)).files.table.column("partition_values")
    assert [chunk.dictionary.to_pylist() for chunk in column.chunks] == [['{"p":"0"}', '{"p":"1"}']]


def gap(folder: DeltaFolder) -> None:
    commits(folder)
    (folder.log / f"{1:020}.json").unlink()


def gap_after_a_checkpoint(folder: DeltaFolder) -> None:
    classic(folder)
    folder.commit(5, add("later"))


def no_start(folder: DeltaFolder) -> None:
    commits(folder, 1)


def torn_commit(folder: DeltaFolder) -> None:
    commits(folder)
    (folder.log / f"{3:020}.json").write_text('{"add": {"path": "x", "si')


def add_without_size(folder: DeltaFolder) -> None:
    commits(folder)
    folder.commit(4, {"add": {"path": "x", "partitionValues": {}}})


def add_without_path(folder: DeltaFolder) -> None:
    commits(folder)
    folder.commit(4, {"add": {"path": None, "partitionValues": {}, "size": 1}})


def size_of_another_type(folder: DeltaFolder) -> None:
    commits(folder)
    folder.commit(4, add("x", size="many"))


def no_metadata(folder: DeltaFolder) -> None:
    commits(folder)
    folder.commit(0, HEAD[0], A)


def no_way_around_the_damage(folder: DeltaFolder) -> None:
    commits(folder, 3)
    (folder.log / f"{3:020}.checkpoint.parquet").write_bytes(b"PAR1")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (gap, "lacks commit 1,"),
        (gap_after_a_checkpoint, "lacks commit 4,"),
        (no_start, "no complete checkpoint and lacks commit 0"),
        (torn_commit, f"{3:020}.json is damaged"),
        (add_without_size, "without a path or a size"),
        (add_without_path, "without a path or a size"),
        (size_of_another_type, f"{4:020}.json is damaged"),
        (no_metadata, "the Delta log has no metadata action"),
        (no_way_around_the_damage, f"{3:020}.checkpoint.parquet is damaged"),
    ],
)
async def test_a_log_that_cannot_be_read_is_refused_saying_why(
    folder: DeltaFolder, write: Callable[[DeltaFolder], None], message: str
) -> None:
    write(folder)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder)


async def test_a_gap_spares_the_versions_before_it(folder: DeltaFolder) -> None:
    gap_after_a_checkpoint(folder)
    assert (await at_version(folder, 3)).version == 3
    with pytest.raises(TableUnreadable, match="lacks commit 4,"):
        await at_version(folder, 4)


@pytest.mark.parametrize("name", [None, "_delta_log/_last_checkpoint", "part-0.parquet"])
async def test_a_folder_without_commits_is_no_table(folder: DeltaFolder, name: str | None) -> None:
    if name is not None:
        (folder.root / name).parent.mkdir(parents=True)
        (folder.root / name).write_text('{"version": 3}')
    with pytest.raises(NotFound, match="no Delta table"):
        await latest(folder)


async def test_the_newest_of_many_actions_on_a_file_counts(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a", stats="1"), add("b"), add("c", deletionVector=vector("x")))
    folder.commit(1, add("a", stats="2"), remove("b"), remove("c"))
    folder.commit(2, remove("a"), add("a", stats="3"), add("b", size=7))
    folder.commit(
        3, add("c", deletionVector=vector("x", offset=2)), remove("c", deletionVector=vector("x"))
    )

    def summary(snapshot: Snapshot) -> list[tuple[str, int, int | None]]:
        return [
            (r["path"], r["size"], (r["deletion_vector"] or {}).get("offset")) for r in rows(snapshot)
        ]

    assert summary(await latest(folder)) == [("a", 10, None), ("b", 7, None), ("c", 10, 2)]
    assert rows(await latest(folder))[0]["stats"] == 3
    # A remove without a deletion vector is of another logical file than the one with it.
    assert summary(await at_version(folder, 1)) == [("a", 10, None), ("c", 10, 1)]
