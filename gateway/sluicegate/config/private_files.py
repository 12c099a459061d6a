"""Writes files that contain a secret: atomically, and readable only by their owner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from sluicegate.api.errors import ConfigurationError


@contextmanager
def new_private_file(path: Path, *, overwrite: bool, remedy: str) -> Iterator[Callable[[bytes], None]]:
    """Check that a file can be written before the secret for it is created.

    Yields a function that writes the content. The file appears atomically, with mode 0600, when this
    function is called.

    Args:
        path: The file.
        overwrite: Whether an existing file is replaced.
        remedy: What the user must do if writing fails after the check, because the secret is then lost.

    Raises:
        ConfigurationError: The file exists and must not be overwritten, or cannot be written.
    """
    if not overwrite and path.exists():
        raise ConfigurationError(f"{path} already exists; choose another file or use --force")
    try:
        # mkstemp creates files with mode 0600.
        handle, name = mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None
    draft = Path(name)

    def write(content: bytes) -> None:
        try:
            _fill(handle, content)
            _publish(draft, path, overwrite=overwrite)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror}; {remedy}") from None

    try:
        yield write
    finally:
        os.close(handle)
        draft.unlink(missing_ok=True)


def _fill(handle: int, content: bytes) -> None:
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def _publish(draft: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        draft.replace(path)
    else:
        # Unlike a rename, a link fails if another process created the file in the meantime.
        path.hardlink_to(draft)
