"""Makes the files of an SQLite database private: they hold token hashes and encrypted payloads."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger(__name__)
# SQLite creates these files itself, with the permissions of the database file.
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_PRIVATE = 0o600
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private(database: str) -> None:
    """Make sure that only the owner of a database can read and write its files.

    A missing database is created empty. Wider permissions of existing files are removed, with a
    warning. No existing file is opened, because closing it would release the locks of this process's
    connections (SQLite documentation, "How To Corrupt An SQLite Database File", 2.2).

    Args:
        database: The file.
    """
    with suppress(OSError):  # It exists, or SQLite reports why it cannot be created.
        os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
    for suffix in _SUFFIXES:
        _narrow(Path(database + suffix))


def _narrow(path: Path) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if not mode & _OF_OTHERS:
        return
    try:
        path.chmod(mode & ~_OF_OTHERS)
    except OSError as error:
        _log.warning(
            "other users can open the database's file %s (mode %04o), which cannot be changed: %s; "
            "run chmod 600 as its owner",
            *(path, mode, error.strerror),
        )
    else:
        _log.warning(
            "other users could open the database's file %s (mode %04o): changed to %04o",
            *(path, mode, mode & ~_OF_OTHERS),
        )
