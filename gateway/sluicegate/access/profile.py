"""Profile files: what a recipient gets.

Source: delta-sharing-protocol.md, "Profile File Format" (version 1, bearer token); since-the-seed.md,
"What clients depend on" (version 2, OAuth client credentials).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import orjson

from sluicegate.access.credentials import IssuedCredential
from sluicegate.clock import iso_utc
from sluicegate.errors import ConfigurationError

TOKEN_ENDPOINT_PATH = "/oauth/token"  # noqa: S105  (an address)
_ENDPOINT_PATH = "/delta-sharing"


def profile_text(issued: IssuedCredential, public_url: str) -> str:
    """The profile's JSON, which holds the secret: version 1 for a token, version 2 for a client."""
    base = public_url.rstrip("/")
    profile = _of_token(issued, base) if issued.client_id is None else _of_client(issued, base)
    return orjson.dumps(profile, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _of_token(issued: IssuedCredential, base: str) -> dict[str, Any]:
    return {
        "shareCredentialsVersion": 1,
        "endpoint": base + _ENDPOINT_PATH,
        "bearerToken": issued.secret,
        "expirationTime": iso_utc(issued.expires_at),
    }


def _of_client(issued: IssuedCredential, base: str) -> dict[str, Any]:
    # No expirationTime: clients take it for that of a bearer token.
    return {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "endpoint": base + _ENDPOINT_PATH,
        "tokenEndpoint": base + TOKEN_ENDPOINT_PATH,
        "clientId": issued.client_id,
        "clientSecret": issued.secret,
    }


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
                f"{path} cannot be written: {error.strerror}; rotate the recipient once more"
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
