"""Detects changes of files from their status, which works on every file system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

FileStamps = Mapping[Path, tuple[int, ...] | None]
"""For each file, a value that changes when the file is written or replaced; `None` if it is missing."""


def file_stamps(files: Iterable[Path]) -> FileStamps:
    """Read the current stamps of files.

    Symbolic links are followed, so a stamp also changes when a link gets another target, as in the
    volumes of Kubernetes.
    """
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev
