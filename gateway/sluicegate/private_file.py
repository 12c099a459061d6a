"""Files that hold a secret: they appear at once, complete, and only their owner may read them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from sluicegate.errors import ConfigurationError


@contextmanager
def new_private_file(path: Path, *, overwrite: bool, remedy: str) -> Iterator[Callable[[bytes], None]]:
    """Make sure that a file can be written before there is a secret to put into it.

    Gives a function that writes the content; the file appears at once, with mode 0600, when it is
    called.

    Args:
        path: The file.
        overwrite: It may exist already.
        remedy: What to do when it cannot be written though it seemed so: the secret is lost then.

    Raises:
        ConfigurationError: The file exists and shall not be overwritten, or cannot be written.
    """
    if not overwrite and path.exists():
        raise ConfigurationError(f"{path} exists already; choose another file or give --force")
    try:
        # mkstemp makes files with mode 0600.
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
        # Unlike a rename, a link fails when somebody made the file meanwhile.
        path.hardlink_to(draft)
