"""The request that a client wants to send to a store (Iceberg REST specification, "signRequest")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from sluicegate.api import InvalidRequest, ObjectRequest, PermissionDenied
from sluicegate.protocols.iceberg_rest.file_access.file_paths import BUCKET

ENDPOINT_PATH = "/iceberg-files"
"""The path of the gateway that clients take for an object store. They never read from it."""

_LONGEST_URI = 16_384
_PRINTABLE = re.compile("[!-~]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PROVIDER = "s3"
# Some SDKs add the name of the operation. All other parameters select something else than the object.
OPERATIONS = {"GET": "x-id=GetObject", "HEAD": "x-id=HeadObject"}
# S3 rejects headers of this kind that a signature does not cover. AWS SDKs request the checksum of an
# object with these: current ones (s3fs, for example) with the first, Java before 2.30 with the other.
_SIGNED_HEADERS = ("x-amz-checksum-mode", "x-amz-te")
_HEADER_VALUE = re.compile("[A-Za-z0-9-]{1,32}")


def store_endpoint(public_url: str) -> str:
    """The value of `s3.endpoint`, in the form in which clients repeat it in their requests."""
    parts = urlsplit(public_url)
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}{ENDPOINT_PATH}"


@dataclass(frozen=True, slots=True)
class SignRequest:
    """A request to read an object."""

    key: str
    object_request: ObjectRequest

    @property
    def reads_content(self) -> bool:
        """Whether the request reads the object, and not only its size."""
        return self.object_request.method == "GET"

    @classmethod
    def parse(cls, body: Mapping[str, Any], endpoint: str) -> Self:
        """Parse the body of a request to sign."""
        method, uri = _text(body, "method").upper(), _text(body, "uri")
        _text(body, "region")
        headers = _headers(body.get("headers"))
        if body.get("provider") not in (None, _PROVIDER):
            raise PermissionDenied(f"only requests of the provider '{_PROVIDER}' can be signed")
        if method not in ("GET", "HEAD"):
            raise PermissionDenied(
                "the files of a shared table can only be read: only GET and HEAD can be signed"
            )
        key = _key(uri, endpoint, OPERATIONS[method])
        return cls(key, ObjectRequest("HEAD" if method == "HEAD" else "GET", headers))


def is_listing(body: Mapping[str, Any], endpoint: str) -> bool:
    """Whether a request lists the clients' bucket.

    s3fs sends one after a file was not found, and shows only that it could not be signed.
    """
    method, uri = body.get("method"), body.get("uri")
    start = f"{endpoint}/{BUCKET}"
    listings = (f"{start}?list-type=2&", f"{start}/?list-type=2&")
    return method == "GET" and isinstance(uri, str) and uri.startswith(listings)


def _key(uri: str, endpoint: str, operation: str) -> str:
    address, mark, query = uri.partition("?")
    start = f"{endpoint}/{BUCKET}/"
    if len(uri) > _LONGEST_URI or not _PRINTABLE.fullmatch(uri) or not address.startswith(start):
        raise PermissionDenied(
            f"only requests to {start} can be signed: use s3.endpoint and path-style access as the "
            "table's configuration says, and paths exactly as they are returned"
        )
    if "#" in uri or (mark and query not in ("", operation)):
        raise PermissionDenied(
            "only reading an object can be signed, not listings, versions or other subresources"
        )
    return unquote(address.removeprefix(start), errors="surrogateescape")


def _headers(value: object) -> dict[str, str]:
    """The headers that a signature must cover."""
    if not isinstance(value, Mapping):
        raise InvalidRequest("headers must be an object of lists of strings")
    signed = {}
    for name, values in value.items():
        lower = str(name).lower()
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise InvalidRequest("headers must be an object of lists of strings")
        if lower in _SIGNED_HEADERS and len(values) == 1 and _HEADER_VALUE.fullmatch(values[0]):
            signed[lower] = values[0]
    return signed


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{name} must be a string that is not empty")
    return value
