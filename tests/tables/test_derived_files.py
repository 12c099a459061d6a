from __future__ import annotations

import asyncio

import pytest

from sluicegate.api.errors import NotFound, StorageError, TableUnreadable, Unavailable
from sluicegate.tables.derived_files import DerivedFile, DerivedFiles

TABLE = "t1"


class Maker:
    """Makes a file once it is let through; counts how often, and how many at once at most."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.file = DerivedFile.of(content, "recipe")
        self.calls = 0
        self.gate = asyncio.Event()

    async def __call__(self) -> bytes:
        self.calls += 1
        await self.gate.wait()
        return self.content


@pytest.fixture
def maker() -> Maker:
    return Maker(b"bytes")


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("recipe", ["r", '["positions","s3://lake/a b",7]', "two\nlines", " "])
def test_a_file_is_the_same_after_a_way_as_text(recipe: str) -> None:
    file = DerivedFile.of(b"bytes", recipe)
    assert DerivedFile.parse(str(file)) == file


@pytest.mark.parametrize("text", ["", "recipe", f"{'0' * 64}", f"{'0' * 64} ", f"{'0' * 63} recipe"])
def test_other_texts_are_no_files(text: str) -> None:
    with pytest.raises(TableUnreadable):
        DerivedFile.parse(text)


async def test_a_file_is_made_once_however_many_ask(maker: Maker) -> None:
    files = DerivedFiles()
    asking = [asyncio.create_task(files.get(TABLE, maker.file, maker)) for _ in range(5)]
    await settled()
    maker.gate.set()
    assert await asyncio.gather(*asking) == [maker.content] * 5
    assert await files.get(TABLE, maker.file, maker) == maker.content
    assert maker.calls == 1


async def test_what_is_kept_is_bounded(maker: Maker) -> None:
    files = DerivedFiles(kept_bytes=len(maker.content) - 1)
    maker.gate.set()
    for calls in (1, 2):
        assert await files.get(TABLE, maker.file, maker) == maker.content
        assert maker.calls == calls


async def test_others_wait_while_so_many_are_made() -> None:
    files = DerivedFiles(at_once=2)
    makers = [Maker(content) for content in (b"1", b"2", b"3")]
    asking = [asyncio.create_task(files.get(TABLE, each.file, each)) for each in makers]
    await settled()
    assert [each.calls for each in makers] == [1, 1, 0]
    for each in makers:
        each.gate.set()
    assert await asyncio.gather(*asking) == [b"1", b"2", b"3"]


async def test_a_request_that_waits_too_long_gets_a_retry_time(maker: Maker) -> None:
    files = DerivedFiles(at_once=1, timeout=0.05)
    first = asyncio.create_task(files.get(TABLE, maker.file, maker))
    await settled()
    other = Maker(b"other")
    with pytest.raises(Unavailable, match="try again later"):
        await files.get(TABLE, other.file, other)
    maker.gate.set()
    assert await first == maker.content
    other.gate.set()
    assert await files.get(TABLE, other.file, other) == other.content


async def test_other_bytes_than_the_answer_named_are_not_served(maker: Maker) -> None:
    files = DerivedFiles()
    maker.content = b"others"
    maker.gate.set()
    for _ in range(2):
        with pytest.raises(NotFound, match="query the table again"):
            await files.get(TABLE, maker.file, maker)
    assert maker.calls == 2


@pytest.mark.parametrize(
    ("raised", "told"),
    [(TableUnreadable("a file is missing"), NotFound), (StorageError("try later"), StorageError)],
)
async def test_what_fails_is_reported_and_tried_again(
    maker: Maker, raised: Exception, told: type[Exception]
) -> None:
    files = DerivedFiles(at_once=1)

    async def fail() -> bytes:
        raise raised

    with pytest.raises(told):
        await files.get(TABLE, maker.file, fail)
    maker.gate.set()
    assert await files.get(TABLE, maker.file, maker) == maker.content
