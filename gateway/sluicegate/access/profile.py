"""Profile files: what a recipient gets.

Source: delta-sharing-protocol.md, "Profile File Format" (version 1, bearer token).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

import orjson

from sluicegate.access.recipients import IssuedToken
from sluicegate.clock import iso_utc
from sluicegate.errors import ConfigurationError

_ENDPOINT_PATH = "/delta-sharing"


def profile_text(issued: IssuedToken, public_url: str) -> str:
    """The profile's JSON, which holds the token."""
    profile = {
        "shareCredentialsVersion": 1,
        "endpoint": public_url.rstrip("/") + _ENDPOINT_PATH,
        "bearerToken": issued.token,
        "expirationTime": iso_utc(issued.expires_at),
    }
    return orjson.dumps(profile, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


@contextmanager
def new_private_file(path: Path, *, overwrite: bool) -> Iterator[Callable[[str], None]]:
    """Make sure that a file can be written before there is a secret to put into it.

    Gives a function that writes the text; the file appears at once, with mode 0600, when it is called.

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

    def write(text: str) -> None:
        try:
            _fill(handle, text)
            _publish(draft, path, overwrite=overwrite)
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written: {error.strerror}; rotate the recipient's token once more"
            ) from None

    try:
        yield write
    finally:
        os.close(handle)
        draft.unlink(missing_ok=True)


def _fill(handle: int, text: str) -> None:
    with os.fdopen(os.dup(handle), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(handle)


def _publish(draft: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        draft.replace(path)
    else:
        # Unlike a rename, a link fails when somebody made the file meanwhile.
        path.hardlink_to(draft)
