"""The address that Iceberg clients take for an object store."""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.api import PermissionDenied
from sluicegate.protocols.iceberg_rest.file_access.object_keys import BUCKET
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.protocols.iceberg_rest.file_access.store_errors import MISSING, store_error

LISTING: Final = "~listing"
"""The key that stands for a listing, which clients request if a file does not exist."""

_MISSING_FILE = (
    "a file of the table does not exist in its storage: load the table again, and if the file is still "
    "missing, the table's provider must restore it (files of a shared table cannot be listed)"
)
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def store_route() -> Route:
    """A route that refuses requests which clients did not send to be signed first."""
    route = Route(f"{ENDPOINT_PATH}/{{path:path}}", _refuse, methods=_METHODS, name="iceberg-store")
    # Starlette's own expression takes no line feeds.
    route.path_regex = re.compile(f"^{re.escape(ENDPOINT_PATH)}/(?P<path>.*)$", re.DOTALL)
    return route


async def _refuse(request: Request) -> Response:
    if request.url.path == f"{ENDPOINT_PATH}/{BUCKET}/{LISTING}":
        return store_error(MISSING, _MISSING_FILE, 404)
    raise PermissionDenied(
        "this address is not an object store: your client did not use remote signing "
        "(s3.remote-signing-enabled for Java, s3.signer for PyIceberg with FsspecFileIO)"
    ).decided_by("request")
