"""Prevents the garbage collector from scanning objects that are never garbage, and frees the others."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause garbage collection during imports: scanning modules takes a tenth of the startup time.

    Objects that were created in this context are never scanned later.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def collect_all() -> None:
    """Free garbage at once, also among objects that are otherwise never scanned.

    Those that remain, now including all younger ones, are not scanned until the next call. Freed memory
    is returned to the operating system: otherwise, each call would leave more holes in the heap.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    trim_heap()


def trim_heap() -> None:
    """Return what glibc keeps of freed memory. Imports free many small objects, here and there."""
    libc = glibc_heap()
    if libc is not None:
        libc.malloc_trim(0)


def glibc_heap() -> ctypes.CDLL | None:
    """The C library if it has glibc's functions for its heap."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return libc if all(hasattr(libc, name) for name in ("mallopt", "malloc_trim")) else None
