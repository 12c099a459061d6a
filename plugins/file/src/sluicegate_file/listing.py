"""Lists the files below a directory without following a symbolic link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from sluicegate_file.beneath import Beneath
from sluicegate_file.names import is_listed, is_unfinished_upload
from sluicegate_file.opened import InThread, object_meta

if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta

_AHEAD = 1000  # files that are listed in one change of threads


class Listing:
    """Pages of a listing; obstore's `ListStream`."""

    def __init__(self, found: Iterator[ObjectMeta], page: int, in_thread: InThread) -> None:
        self._found = found
        self._page = page
        self._in_thread = in_thread
        self._waiting: list[ObjectMeta] = []
        self._ahead = page  # the first page is often the only one that is needed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[ObjectMeta]:
        page = self._next_page()
        if not page:
            raise StopIteration
        return page

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[ObjectMeta]:
        if not self._waiting:
            await self._in_thread(self._list_ahead)
        page = self._next_page()
        if not page:
            raise StopAsyncIteration
        return page

    def collect(self) -> list[ObjectMeta]:
        """Return all files that remain."""
        found = [*self._waiting, *self._found]
        self._waiting = []
        return found

    async def collect_async(self) -> list[ObjectMeta]:
        """Return all files that remain."""
        return await self._in_thread(self.collect)

    def _next_page(self) -> list[ObjectMeta]:
        if not self._waiting:
            self._list_ahead()
        page, self._waiting = self._waiting[: self._page], self._waiting[self._page :]
        return page

    def _list_ahead(self) -> None:
        self._waiting = list(islice(self._found, self._ahead))
        self._ahead = max(self._page, _AHEAD)


def keys_below(files: Beneath, key: str, after: str | None) -> Iterator[ObjectMeta]:
    """Yield the files below a directory, in no particular order. A missing directory has none.

    Symbolic links and pipes are listed as files, because a table that contains one must not look like a
    table without this file: reading them is refused.
    """
    waiting = [key]
    while waiting:
        directory = waiting.pop()
        with _entries(files, directory) as entries:
            for entry in entries:
                found = _key_in(directory, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(found)
                elif (after is None or found > after) and not is_unfinished_upload(found):
                    with suppress(FileNotFoundError):  # removed meanwhile
                        yield object_meta(found, entry.stat(follow_symlinks=False))


def one_level(files: Beneath, key: str) -> ListResult[Any]:
    """Return the files and directories in a directory. A missing directory has none."""
    folders: list[str] = []
    found: list[ObjectMeta] = []
    with _entries(files, key) as entries:
        for entry in entries:
            path = _key_in(key, entry.name)
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif not is_unfinished_upload(path):
                with suppress(FileNotFoundError):
                    found.append(object_meta(path, entry.stat(follow_symlinks=False)))
    return {"common_prefixes": folders, "objects": found}


@contextmanager
def _entries(files: Beneath, key: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    try:
        descriptor = files.directory(key)
    except FileNotFoundError:
        yield iter(())
        return
    try:
        with os.scandir(descriptor) as entries:
            yield (entry for entry in entries if is_listed(entry.name))
    finally:
        os.close(descriptor)


def _key_in(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
