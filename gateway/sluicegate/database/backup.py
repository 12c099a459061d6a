"""Copies a SQLite database while a gateway uses it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sluicegate.api.errors import ConfigurationError

# Pages that are copied in one step. Between two steps, the gateway can write.
_PAGES = 1024


def back_up(database: Path, copy: Path) -> None:
    """Copy a database into a new file, which only its owner can read.

    The copy contains every transaction that was committed before the last step, and no part of others.
    """
    draft = copy.with_name(f".{copy.name}.{os.getpid()}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise ConfigurationError(f"{draft} cannot be created: {error.strerror}") from error
    try:
        _copy(database, draft)
        copy.hardlink_to(draft)
    except FileExistsError:
        raise ConfigurationError(f"{copy} already exists; choose another directory") from None
    except OSError as error:
        raise ConfigurationError(f"{copy} cannot be written: {error.strerror}") from error
    except sqlite3.Error as error:
        raise ConfigurationError(f"{database} cannot be backed up: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _copy(database: Path, draft: Path) -> None:
    source = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    target = sqlite3.connect(draft)
    try:
        source.backup(target, pages=_PAGES)
        # The source is in WAL mode, so the copy would be, too, and need two more files to be read.
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()
        source.close()
