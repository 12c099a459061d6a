"""The heap of glibc, which by itself returns little memory to the operating system."""

from __future__ import annotations

import ctypes
import gc
import os
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


# From glibc's <malloc.h>, and the variables with which operators set the same or another allocator.
_M_ARENA_MAX = -8
_CHOICES_OF_OPERATORS = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD")
_ARENAS = 2


def share_arenas() -> None:
    """Let the threads of this process share two arenas. Call it before there are threads.

    By default, there can be eight for each core, so the dozens of threads of obstore get many. Each has
    holes that only its own threads fill again, so that memory grows for hours.
    """
    libc = None if any(name in os.environ for name in _CHOICES_OF_OPERATORS) else glibc_heap()
    if libc is not None:
        libc.mallopt(_M_ARENA_MAX, _ARENAS)


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
