"""Names threads for the kernel, as Python does from 3.14 on, so that `/proc` shows their pools.

It is on the path of processes that are watched (`soak/threads.py`), and imported when they start.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

_LONGEST = 15  # bytes, as the kernel has it
_original = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]


def _named(thread: threading.Thread, *arguments: Any) -> None:
    place = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
    place.write_bytes(thread.name.encode()[:_LONGEST])
    _original(thread, *arguments)


threading.Thread._bootstrap_inner = _named  # type: ignore[attr-defined]
