"""An obstore store of local files that follows no symbolic link."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import anyio
import anyio.to_thread
from obstore.exceptions import GenericError, NotSupportedError, PreconditionError
from obstore.store import LocalStore

from sluicegate_file.beneath import Beneath
from sluicegate_file.listing import Listing, keys_below, one_level
from sluicegate_file.names import checked_key
from sluicegate_file.opened import FileResult, OpenedFile

if TYPE_CHECKING:
    from obstore import Bytes, GetOptions, GetResult, ListResult, ListStream, ObjectMeta

_T = TypeVar("_T")

# Nothing is below it. The native part of this store must never open a path by itself.
_NOWHERE = "/dev/null"
_MOST_THREADS = 32
_OPTIONS = {"range", "if_match"}


class BeneathStore(LocalStore):
    """Reads files below one directory. Each file is opened once, and read from that descriptor.

    Only its methods read files. Functions of obstore, such as `obstore.get`, find nothing, because they
    would follow symbolic links.
    """

    _files: Beneath
    _limiter: anyio.CapacityLimiter

    def __new__(cls, files: Beneath) -> Self:
        """Create the native part."""
        new: Callable[..., Self] = super().__new__  # it takes the arguments of `LocalStore.__init__`
        store = new(cls, _NOWHERE)
        store._files = files
        # Separate threads: those of anyio can be occupied by readers that wait for a file.
        store._limiter = anyio.CapacityLimiter(_MOST_THREADS)
        return store

    def __init__(self, files: Beneath) -> None:
        """Accept the same argument."""

    def get(self, path: str, *, options: GetOptions | None = None) -> GetResult:
        """Open a file; see `obstore.get`. The options `range` and `if_match` are supported."""
        return cast("GetResult", self._get(path, cast("Mapping[str, Any]", options or {})))

    async def get_async(self, path: str, *, options: GetOptions | None = None) -> GetResult:
        """Open a file, as `get` does."""
        return await self._in_thread(partial(self.get, path, options=options))

    def get_range(
        self, path: str, *, start: int, end: int | None = None, length: int | None = None
    ) -> Bytes:
        """Read a part of a file; see `obstore.get_range`."""
        end = start + length if end is None and length is not None else end
        return self.get(path, options={"range": (start, end or 0)}).bytes()

    async def get_range_async(
        self, path: str, *, start: int, end: int | None = None, length: int | None = None
    ) -> Bytes:
        """Read a part of a file, as `get_range` does."""
        return await self._in_thread(partial(self.get_range, path, start=start, end=end, length=length))

    def get_ranges(
        self,
        path: str,
        *,
        starts: Sequence[int],
        ends: Sequence[int] | None = None,
        lengths: Sequence[int] | None = None,
        coalesce: int = 0,
    ) -> list[Bytes]:
        """Read parts of a file; see `obstore.get_ranges`. They are read one by one."""
        ends = ends or [start + length for start, length in zip(starts, lengths or (), strict=True)]
        file = OpenedFile(self._files.file(checked_key(path)), path)
        return [
            FileResult(file, *_bounds((start, end), file.size), self._in_thread).bytes()
            for start, end in zip(starts, ends, strict=True)
        ]

    async def get_ranges_async(
        self,
        path: str,
        *,
        starts: Sequence[int],
        ends: Sequence[int] | None = None,
        lengths: Sequence[int] | None = None,
        coalesce: int = 0,
    ) -> list[Bytes]:
        """Read parts of a file, as `get_ranges` does."""
        return await self._in_thread(
            partial(self.get_ranges, path, starts=starts, ends=ends, lengths=lengths)
        )

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of a file."""
        return OpenedFile(self._files.file(checked_key(path)), path).meta

    async def head_async(self, path: str) -> ObjectMeta:
        """Return the metadata of a file."""
        return await self._in_thread(partial(self.head, path))

    def list(
        self,
        prefix: str | None = None,
        *,
        offset: str | None = None,
        chunk_size: int = 50,
        return_arrow: bool = False,
    ) -> ListStream[Any]:
        """List files; see `obstore.list`. Symbolic links are listed, but can't be opened."""
        if return_arrow:
            raise NotSupportedError("local files are not listed as Arrow batches")
        found = keys_below(self._files, checked_key(prefix or ""), offset)
        return cast("ListStream[Any]", Listing(found, chunk_size, self._in_thread))

    def list_async(
        self,
        prefix: str | None = None,
        *,
        offset: str | None = None,
        chunk_size: int = 50,
        return_arrow: bool = False,
    ) -> ListStream[Any]:
        """List files, as `list` does."""
        return self.list(prefix, offset=offset, chunk_size=chunk_size, return_arrow=return_arrow)

    def list_with_delimiter(
        self, prefix: str | None = None, *, return_arrow: bool = False
    ) -> ListResult[Any]:
        """List the files and directories of one directory; see `obstore.list_with_delimiter`."""
        if return_arrow:
            raise NotSupportedError("local files are not listed as Arrow batches")
        return one_level(self._files, checked_key(prefix or ""))

    async def list_with_delimiter_async(
        self, prefix: str | None = None, *, return_arrow: bool = False
    ) -> ListResult[Any]:
        """List the files and directories of one directory, as `list_with_delimiter` does."""
        return await self._in_thread(
            partial(self.list_with_delimiter, prefix, return_arrow=return_arrow)
        )

    def _get(self, path: str, options: Mapping[str, Any]) -> FileResult:
        unknown = {name for name, value in options.items() if value} - _OPTIONS
        if unknown:
            raise NotSupportedError(f"local files have no option {', '.join(sorted(unknown))}")
        file = OpenedFile(self._files.file(checked_key(path)), path)
        wanted, tag = options.get("if_match"), file.meta["e_tag"] or ""
        if wanted is not None and wanted != "*" and tag not in map(str.strip, wanted.split(",")):
            raise PreconditionError(f"the file {path} is {tag} now, not {wanted}")
        return FileResult(file, *_bounds(options.get("range"), file.size), self._in_thread)

    async def _in_thread(self, call: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(call, limiter=self._limiter, abandon_on_cancel=True)


def _bounds(wanted: Sequence[int] | Mapping[str, int] | None, size: int) -> tuple[int, int]:
    """Return the start and end of the bytes that the option `range` selects."""
    if wanted is None:
        return 0, size
    if not isinstance(wanted, Mapping):
        start, end = wanted
    elif "suffix" in wanted:
        return max(size - wanted["suffix"], 0), size
    else:
        start, end = wanted["offset"], size
    if start < 0 or start >= size or end <= start:
        raise GenericError(f"Requested range was invalid: {start} to {end} of {size} bytes")
    return start, min(end, size)
