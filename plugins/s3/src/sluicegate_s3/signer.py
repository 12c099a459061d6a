"""Presigned S3 URLs: AWS Signature Version 4 in query parameters, in batches.

Most of a signature is the same for an entire batch. Each URL only needs a hash of its key with the
rest of the canonical request, and one HMAC, both from cached states. Order and encoding follow
"Authenticating Requests: Using Query Parameters" of the Amazon S3 API reference. URLs equal those of
botocore's `S3SigV4QueryAuth` byte for byte, apart from the place of a label.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from sluicegate.api import (
    LABEL_PARAMETER,
    ObjectRequest,
    SignedPaths,
    UrlSigner,
    hmac_states,
    quote_keys,
)
from sluicegate_s3.address import BucketAddress
from sluicegate_s3.credentials import Credentials

if TYPE_CHECKING:
    from hashlib import _Hash

GET: Final = ObjectRequest()
"""A plain GET."""


@dataclass(frozen=True, slots=True)
class _Common:
    """What all URLs of a batch have in common."""

    start_of_request: _Hash
    rest: bytes
    inner: _Hash
    outer: _Hash
    end: str


class Presigner(UrlSigner):
    """Signs URLs of one bucket with one set of credentials."""

    def __init__(
        self, address: BucketAddress, region: str, credentials: Credentials, *, labels: bool = True
    ) -> None:
        self._address = address
        self._region = region
        self._credentials = credentials
        self.expires_at = credentials.expires_at
        self._labels = labels
        self._key: tuple[str, bytes] = ("", b"")
        self._last: tuple[tuple[int, int, str, dict[str, str], str | None], _Common] | None = None

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest = GET
    ) -> list[str]:
        """Return URLs, each of which reads one key."""
        common = self._common(at, lifetime, request)
        quoted = quote_keys(keys)
        signatures = _signatures(common, common.start_of_request, map(str.encode, quoted))
        start, end = self._address.origin + self._address.path, common.end
        return [
            f"{start}{key}{end}{signature}" for key, signature in zip(quoted, signatures, strict=True)
        ]

    def sign_paths(
        self,
        directory: str,
        paths: Sequence[bytes],
        at: int,
        expires_in: int,
        request: ObjectRequest = GET,
    ) -> SignedPaths:
        """Return the URLs of `sign` in parts."""
        common = self._common(at, expires_in, request)
        (before,) = quote_keys([directory])
        start_of_request = common.start_of_request.copy()
        start_of_request.update(before.encode())
        return SignedPaths(
            start=f"{self._address.origin}{self._address.path}{before}",
            middle=common.end,
            signatures=_signatures(common, start_of_request, paths),
            expires_at=(at + expires_in) * 1000,
        )

    def _common(self, at: int, expires_in: int, request: ObjectRequest) -> _Common:
        """Return what is the same for a batch. Batches of the same second are often the same."""
        headers = {"host": self._address.host, **_signed_headers(request)}
        label = request.label if self._labels else None
        key = (at, expires_in, request.method, headers, label)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
        scope = f"{stamp[:8]}/{self._region}/s3/aws4_request"
        names = ";".join(headers)
        canonical, query = self._queries(stamp, scope, expires_in, names)
        if label is not None:
            named = f"&{LABEL_PARAMETER}={quote(label, safe='')}"
            canonical, query = canonical + named, query + named  # lower case is last
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        inner, outer = hmac_states(self._signing_key(stamp[:8]))
        inner.update(f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n".encode())
        common = _Common(
            start_of_request=sha256(f"{request.method}\n{self._address.path}".encode()),
            rest=f"\n{canonical}\n{lines}\n{names}\nUNSIGNED-PAYLOAD".encode(),
            inner=inner,
            outer=outer,
            end=f"?{query}&X-Amz-Signature=",
        )
        self._last = key, common
        return common

    def _queries(self, stamp: str, scope: str, expires_in: int, signed: str) -> tuple[str, str]:
        """Return the query in canonical order, and in botocore's order."""
        first = (
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            f"&X-Amz-Credential={quote(f'{self._credentials.access_key_id}/{scope}', safe='')}"
            f"&X-Amz-Date={stamp}&X-Amz-Expires={expires_in}"
        )
        headers = f"&X-Amz-SignedHeaders={quote(signed, safe='')}"
        if self._credentials.session_token is None:
            return first + headers, first + headers
        token = f"&X-Amz-Security-Token={quote(self._credentials.session_token, safe='')}"
        return first + token + headers, first + headers + token

    def _signing_key(self, day: str) -> bytes:
        if self._key[0] != day:
            key = f"AWS4{self._credentials.secret_access_key}".encode()
            for part in (day, self._region, "s3", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (day, key)
        return self._key[1]


def _signatures(common: _Common, start_of_request: _Hash, paths: Iterable[bytes]) -> list[str]:
    """Return the signatures of canonical requests that begin in the same way."""
    copy_request, copy_inner, copy_outer = start_of_request.copy, common.inner.copy, common.outer.copy
    rest, signatures = common.rest, []
    for path in paths:
        hashed = copy_request()
        hashed.update(path + rest)
        message = copy_inner()
        message.update(hashed.hexdigest().encode())
        signature = copy_outer()
        signature.update(message.digest())
        signatures.append(signature.hexdigest())
    return signatures


def _signed_headers(request: ObjectRequest) -> dict[str, str]:
    """Return the headers that S3 accepts only if they are signed, in canonical order."""
    return {
        name: " ".join(request.headers[name].split())
        for name in sorted(request.headers)
        if name.startswith("x-amz-")
    }
