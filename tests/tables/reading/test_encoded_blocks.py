"""Encoded texts are kept for chunks that are used again, while there is room."""

from __future__ import annotations

import gc
import random

import pyarrow as pa

from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.reading.encoded_blocks import ChunkBlocks, EncodedBlocks

ROWS = 8
TEXTS = [f'"id":{number}'.encode() for number in range(ROWS)]
ROOM = 1 << 20


def chunk() -> PackedTexts:
    return PackedTexts(pa.array(["{}"] * 1024))


def again(blocks: EncodedBlocks, part: PackedTexts, encoding: str = "lines") -> ChunkBlocks:
    """The blocks of a chunk, for the second response."""
    blocks.open(part, encoding)
    return blocks.open(part, encoding)


def keep(blocks: EncodedBlocks, part: PackedTexts, *starts: int, size: int = 1000) -> None:
    """Keep texts that cannot be compressed, for a response."""
    opened = blocks.open(part, "lines")
    for start in starts:
        if opened.get(start, ROWS) is None and opened.wanted:
            text = random.Random(start).randbytes(size).replace(b"\0", b"")
            opened.keep(start, ROWS, [text])


def kept(blocks: EncodedBlocks, part: PackedTexts, *starts: int) -> list[int]:
    opened = ChunkBlocks(blocks, next(iter(blocks._chunks[id(part)].values())), None)
    return [start for start in starts if opened.get(start, ROWS) is not None]


def test_what_is_used_once_is_not_kept() -> None:
    blocks, part = EncodedBlocks(ROOM), chunk()
    assert not blocks.open(part, "lines").wanted
    assert blocks.nbytes == 0


def test_the_second_use_keeps_texts_for_further_ones() -> None:
    blocks, part = EncodedBlocks(ROOM), chunk()
    second = again(blocks, part)
    assert second.wanted
    second.keep(0, ROWS, TEXTS)
    assert blocks.open(part, "lines").get(0, ROWS) == TEXTS
    assert 0 < blocks.nbytes < ROOM


def test_blocks_are_found_by_their_rows_and_encoding() -> None:
    blocks, part = EncodedBlocks(ROOM), chunk()
    again(blocks, part).keep(0, ROWS, TEXTS)
    opened = blocks.open(part, "lines")
    assert opened.get(0, ROWS - 1) is None
    assert opened.get(ROWS, ROWS) is None
    assert again(blocks, part, "other lines").get(0, ROWS) is None
    assert again(blocks, chunk()).get(0, ROWS) is None


def test_texts_that_contain_the_separator_are_not_kept() -> None:
    blocks, part = EncodedBlocks(ROOM), chunk()
    again(blocks, part).keep(0, 2, [b"a\0b", b"c"])
    assert blocks.open(part, "lines").get(0, 2) is None


def test_blocks_end_with_their_chunk() -> None:
    blocks, part = EncodedBlocks(ROOM), chunk()
    again(blocks, part).keep(0, ROWS, TEXTS)
    del part
    gc.collect()
    assert blocks.nbytes == 0


def test_less_room_evicts_what_was_used_least_recently() -> None:
    blocks, parts = EncodedBlocks(ROOM), [chunk(), chunk()]
    for part in [*parts, *parts, parts[0]]:
        keep(blocks, part, 0)
    blocks.resize(blocks.nbytes * 2 // 3)
    assert [kept(blocks, part, 0) for part in parts] == [[0], []]
    blocks.resize(0)
    assert blocks.nbytes == 0


def test_a_table_without_enough_room_keeps_the_blocks_that_fit() -> None:
    blocks, parts = EncodedBlocks(5_000), [chunk() for _ in range(4)]
    for _ in range(4):
        for part in parts:
            keep(blocks, part, 0, ROWS)
    held = [kept(blocks, part, 0, ROWS) for part in parts]
    assert held[0] == [0, ROWS]
    assert held[3] == []
    assert blocks.nbytes <= 5_000


def test_blocks_that_are_used_replace_those_that_no_longer_are() -> None:
    blocks, old, new = EncodedBlocks(3_000), chunk(), chunk()
    for part in (old, old, new):
        keep(blocks, part, 0, ROWS)
    assert kept(blocks, old, 0, ROWS) == [0, ROWS]
    keep(blocks, new, 0, ROWS)
    assert kept(blocks, new, 0, ROWS) == [0, ROWS]
    assert kept(blocks, old, 0, ROWS) == []
