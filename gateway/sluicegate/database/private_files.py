"""Makes the files of an SQLite database private: they hold token hashes and encrypted payloads."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress

from sluicegate.api.errors import ConfigurationError

_log = logging.getLogger(__name__)
# SQLite creates these files itself, with the permissions of the database file.
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_PRIVATE = 0o600
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_private(database: str) -> None:
    """Create a database that doesn't exist as an empty file that only its owner can read and write."""
    file = os.path.realpath(database)
    if os.path.isdir(file):  # noqa: PTH112
        raise ConfigurationError(
            f"the database {database} is a directory: append the name of a file, such as /sluicegate.db"
        )
    with suppress(OSError):  # It exists, or SQLite reports why it cannot be created.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))


def keep_private(database: str) -> None:
    """Remove permissions of other users from the files of a database, with a warning.

    Call it only for a database that the gateway uses, after its schema was checked: what a wrong
    setting names is not the gateway's. Only regular files of this user with one name are changed. No
    file is opened for reading, because closing it would release the locks of this process's connections
    (SQLite documentation, "How To Corrupt An SQLite Database File", 2.2).
    """
    file = os.path.realpath(database)
    for suffix in _SUFFIXES:
        with suppress(OSError):
            _narrow(file + suffix)


def _narrow(path: str) -> None:
    if not hasattr(os, "O_PATH"):
        _narrow_found(path, os.lstat(path), path)
        return
    # The file that is examined is the one that is changed, even if its name is replaced.
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _narrow_found(path, os.fstat(descriptor), f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _narrow_found(path: str, found: os.stat_result, changeable: str) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode) or not mode & _OF_OTHERS:
        return
    try:
        if found.st_uid != os.geteuid():
            raise PermissionError(0, "it belongs to another user")
        if found.st_nlink != 1:
            raise PermissionError(0, "it has several names")
        os.chmod(changeable, mode & ~_OF_OTHERS)  # noqa: PTH101 (a link to a descriptor)
    except OSError as error:
        _log.warning(
            "other users can open the database's file %s (mode %04o), which is not changed: %s; "
            "run chmod 600 as its owner",
            *(path, mode, error.strerror),
        )
    else:
        _log.warning(
            "other users could open the database's file %s (mode %04o): changed to %04o",
            *(path, mode, mode & ~_OF_OTHERS),
        )
