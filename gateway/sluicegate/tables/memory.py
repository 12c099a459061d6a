"""How Arrow's memory goes back to the operating system."""

from __future__ import annotations

import os

import pyarrow as pa

_CHOICE_OF_OPERATORS = "ARROW_DEFAULT_MEMORY_POOL"


def return_freed_memory() -> None:
    """Let a dropped snapshot's memory go back to the system at once.

    By default Arrow keeps for itself what it once had: a gateway that answered for a table of a million
    files would hold hundreds of MB for good. Where jemalloc is not built in (Windows), that stays so.
    """
    if _CHOICE_OF_OPERATORS in os.environ:
        return
    try:
        pool = pa.jemalloc_memory_pool()
    except NotImplementedError:
        return
    pa.set_memory_pool(pool)
    pa.jemalloc_set_decay_ms(0)
