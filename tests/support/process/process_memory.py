"""What this process takes of the machine's memory."""

from __future__ import annotations

import os
from pathlib import Path


def resident_bytes() -> int:
    """Its resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
