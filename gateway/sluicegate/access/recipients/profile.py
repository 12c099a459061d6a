"""Creates profile files, which contain the endpoint and credentials of a recipient.

Source: Delta Sharing protocol, "Profile File Format" (version 1, bearer token); docs/interop.md,
"What clients depend on" (version 2, OAuth client credentials) and "OpenSharing" (`icebergEndpoint`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson

from sluicegate._util.clock import iso_utc
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.config.private_files import new_private_file

TOKEN_ENDPOINT_PATH = "/oauth/token"  # noqa: S105  (an address)
ICEBERG_PATH = "/iceberg"
SHARING_PATH = "/delta-sharing"
ACTIVATION_PATH = "/activate"


def profile_text(issued: IssuedCredential, public_url: str) -> str:
    """The profile as JSON with the secret: version 1 for a token, version 2 for an OAuth client."""
    base = public_url.rstrip("/")
    profile = _of_token(issued, base) if issued.client_id is None else _of_client(issued, base)
    return orjson.dumps(profile, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _of_token(issued: IssuedCredential, base: str) -> dict[str, Any]:
    return {
        "shareCredentialsVersion": 1,
        "endpoint": base + SHARING_PATH,
        "icebergEndpoint": base + ICEBERG_PATH,
        "bearerToken": issued.secret,
        "expirationTime": iso_utc(issued.expires_at),
    }


def _of_client(issued: IssuedCredential, base: str) -> dict[str, Any]:
    # Without expirationTime, because clients interpret it as the expiry of a bearer token.
    return {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "endpoint": base + SHARING_PATH,
        "tokenEndpoint": base + TOKEN_ENDPOINT_PATH,
        "clientId": issued.client_id,
        "clientSecret": issued.secret,
    }


def new_profile_file(path: Path, *, overwrite: bool) -> AbstractContextManager[Callable[[bytes], None]]:
    """A file for a profile; see `new_private_file`."""
    return new_private_file(path, overwrite=overwrite, remedy="rotate the recipient once more")
