"""Returns freed memory to the operating system: Arrow's, and large buffers of Python."""

from __future__ import annotations

import os

import pyarrow as pa

from sluicegate._util.memory import glibc_heap

_CHOICE_OF_OPERATORS = "ARROW_DEFAULT_MEMORY_POOL"

# From glibc's <malloc.h>, and the variables with which operators set the same.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_CHOICES_OF_GLIBC = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")
_LARGE = 4 << 20  # bytes; smaller than the buffers for reading log files


def return_freed_memory() -> None:
    """Configure allocators to return the memory of dropped snapshots and large buffers at once."""
    _return_arrows()
    _return_large_buffers()


def _return_arrows() -> None:
    """Choose an Arrow allocator that returns freed memory.

    By default, Arrow keeps memory that it once allocated: a gateway that served a table of a million
    files would permanently keep hundreds of MB. If jemalloc is not built in (Windows), this remains the
    case.
    """
    if _CHOICE_OF_OPERATORS in os.environ:
        return
    try:
        pool = pa.jemalloc_memory_pool()
    except NotImplementedError:
        return
    pa.set_memory_pool(pool)
    pa.jemalloc_set_decay_ms(0)


def _return_large_buffers() -> None:
    """Prevent glibc from raising its thresholds.

    By default, the first large buffer that is freed raises them up to 64 MB. Each arena, of which there
    can be eight per core, then keeps as much. Other allocators have no such function.
    """
    if any(name in os.environ for name in _CHOICES_OF_GLIBC):
        return
    libc = glibc_heap()
    if libc is None:
        return
    for threshold in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
        libc.mallopt(threshold, _LARGE)
