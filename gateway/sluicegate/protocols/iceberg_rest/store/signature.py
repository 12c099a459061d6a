"""Signatures of requests to S3, version 4: in the `Authorization` header, or in the query.

Source: Amazon S3 API reference, "Authenticating requests (AWS Signature Version 4)".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from calendar import timegm
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import strptime
from typing import Final, NoReturn
from urllib.parse import quote, unquote_to_bytes

from sluicegate.protocols.iceberg_rest.store.errors import DENIED, StoreRefusal

LARGEST_SKEW: Final = 900
"""Seconds between the time of a request and its arrival."""

_ALGORITHM = "AWS4-HMAC-SHA256"
_LONGEST_PATH = 16_384
_LONGEST_QUERY = 16_384
_LONGEST_HEADER = 16_384
_MOST_HEADERS = 100
_LONGEST_EXPIRY = 7 * 86_400
_TOKEN = "x-amz-security-token"  # noqa: S105  (a name)
_CONTENT = "x-amz-content-sha256"
_DATE = "x-amz-date"
_SINGLE = ("authorization", "host", _TOKEN, _CONTENT, _DATE)
_AUTHORIZATION = re.compile(
    rf"{_ALGORITHM}[ ]+Credential=(?P<credential>[^\s,]+)[ ]*,[ ]*"
    r"SignedHeaders=(?P<headers>[^\s,]+)[ ]*,[ ]*Signature=(?P<signature>[^\s,]+)"
)
_CREDENTIAL = re.compile(
    r"(?P<key>[A-Za-z0-9_-]{1,128})/(?P<scope>(?P<day>[0-9]{8})/[A-Za-z0-9-]{1,64}/s3/aws4_request)"
)
_HEADER_NAMES = re.compile(r"[a-z0-9-]+(?:;[a-z0-9-]+)*")
_SIGNATURE = re.compile("[0-9a-f]{64}")
_TIME = re.compile("[0-9]{8}T[0-9]{6}Z")
_EXPIRY = re.compile("[0-9]{1,6}")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_NO_CONTENT = hashlib.sha256().hexdigest()
_STREAMED = re.compile("STREAMING-[A-Z0-9-]{1,64}")
_QUERY_NAMES = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
)
_QUERY_TOKEN = "X-Amz-Security-Token"  # noqa: S105  (a name)


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request as it arrived. Nothing is decoded.

    Attributes:
        headers: Names in lower case.
    """

    method: str
    path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]] = field(repr=False)


_Pairs = Sequence[tuple[bytes, bytes]]
_Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a signature, some of which are not checked yet.

    Attributes:
        names: Names of the headers that it covers.
        needed: Names of headers that it must cover.
        parameters: The canonical query.
        content: The hash of the content, or what stands for it.
        expires: Seconds for which a URL is valid; `None` for a signature in a header.
    """

    credential: str
    names: str
    signature: str
    date: str
    needed: frozenset[str]
    parameters: str
    content: str
    others: _Pairs
    token: str | None = field(repr=False)
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a request, and what it covers.

    Attributes:
        time: When the request was signed, epoch seconds.
    """

    access_key_id: str
    time: int
    _scope: str
    _method: str
    _path: bytes
    _headers: _Headers = field(repr=False)
    _parts: _Parts = field(repr=False)

    @classmethod
    def parse(cls, request: RawRequest) -> Signature:
        """Parse a request, whose size is limited."""
        _check_sizes(request)
        pairs, headers = _pairs(request.query), _by_name(request.headers)
        in_query = any(name == b"X-Amz-Signature" for name, _ in pairs)
        if in_query == ("authorization" in headers):
            _refuse(
                "a request needs one signature, in its Authorization header or in its query: this "
                "address is for Iceberg clients with the keys that the catalog returns, or with "
                "remote signing"
            )
        parts = _of_query(pairs, headers) if in_query else _of_header(pairs, headers)
        credential = _CREDENTIAL.fullmatch(parts.credential)
        if credential is None or not _SIGNATURE.fullmatch(parts.signature):
            _refuse("the credential or the signature is malformed")
        time = _epoch(parts.date)
        if time is None or not parts.date.startswith(credential["day"]):
            _refuse("the time of the signature is missing, malformed, or not of the credential's day")
        signed = _signed_headers(parts, headers)
        scope = credential["scope"]
        return cls(credential["key"], time, scope, request.method, request.path, signed, parts)

    @property
    def token(self) -> str | None:
        """The session token."""
        return self._parts.token

    @property
    def others(self) -> _Pairs:
        """Query parameters that don't belong to the signature."""
        return self._parts.others

    def check_time(self, now: float) -> None:
        """Check that the request was signed recently, or for this time."""
        late, expires = now - self.time, self._parts.expires
        if late < -LARGEST_SKEW or (expires is None and late > LARGEST_SKEW):
            raise StoreRefusal(
                "RequestTimeTooSkewed",
                "the time of the request differs too much from that of the gateway: correct the clock "
                "of the client",
            )
        if expires is not None and late >= expires:
            _refuse("this URL has expired")

    def check(self, secret: str, hosts: Iterable[str], path_prefix: bytes) -> None:
        """Check that the request was signed with a secret.

        Args:
            hosts: Names and ports of the gateway that the client can have used.
            path_prefix: The part of the path that a proxy removed.
        """
        key = f"AWS4{secret}".encode()
        for part in self._scope.split("/"):
            key = _hmac(key, part)
        # Each is compared, so that the time does not depend on which one matches.
        matches = [
            hmac.compare_digest(self._parts.signature, _hmac(key, self._text(host, path_prefix)).hex())
            for host in dict.fromkeys(hosts)
        ]
        if not any(matches):
            raise StoreRefusal(
                "SignatureDoesNotMatch",
                "the signature is not that of this request with the secret of the key: check the "
                "secret, and that no proxy changes the host, the path or signed headers",
            )

    def _text(self, host: str, path_prefix: bytes) -> str:
        """The string to sign."""
        headers = "".join(
            f"{name}:{host if name == 'host' else value}\n" for name, value in self._headers
        )
        names = ";".join(name for name, _ in self._headers)
        path = _canonical_path(path_prefix + self._path)
        request = "\n".join(
            (self._method, path, self._parts.parameters, headers, names, self._parts.content)
        )
        digest = hashlib.sha256(request.encode("latin-1")).hexdigest()
        return f"{_ALGORITHM}\n{self._parts.date}\n{self._scope}\n{digest}"


def _refuse(message: str, code: str = DENIED) -> NoReturn:
    raise StoreRefusal(code, message)


def _of_header(pairs: _Pairs, headers: Mapping[str, list[str]]) -> _Parts:
    found = _AUTHORIZATION.fullmatch(headers["authorization"][0])
    if found is None:
        _refuse("the Authorization header is malformed: only signatures of version 4 are accepted")
    [content], [date] = headers.get(_CONTENT, [""]), headers.get(_DATE, [""])
    if content not in (_UNSIGNED, _NO_CONTENT) and not _STREAMED.fullmatch(content):
        _refuse(f"{_CONTENT} must be that of a request without content, or {_UNSIGNED}")
    token = headers[_TOKEN][0] if _TOKEN in headers else None
    needed = frozenset({"host", _DATE} if token is None else {"host", _DATE, _TOKEN})
    named = found["credential"], found["headers"], found["signature"]
    return _Parts(*named, date, needed, _canonical_query(pairs), content, pairs, token)


def _of_query(pairs: _Pairs, headers: Mapping[str, list[str]]) -> _Parts:
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
    algorithm, credential, date, expires, names, signature = map(named.get, _QUERY_NAMES)
    if len(named) != len(pairs) or _TOKEN in headers:
        _refuse("a parameter occurs more than once")
    if algorithm != _ALGORITHM or not credential or not date or not names or not signature:
        _refuse("the parameters of the signature are incomplete")
    if not _EXPIRY.fullmatch(expires or "") or not 0 < int(expires or 0) <= _LONGEST_EXPIRY:
        _refuse("X-Amz-Expires must be a number of seconds, at most a week")
    covered = [each for each in pairs if each[0] != b"X-Amz-Signature"]
    own = {name.encode() for name in (*_QUERY_NAMES, _QUERY_TOKEN)}
    return _Parts(
        credential,
        names,
        signature,
        date,
        frozenset({"host"}),
        _canonical_query(covered),
        _UNSIGNED,
        [each for each in pairs if each[0] not in own],
        named.get(_QUERY_TOKEN),
        int(expires or 0),
    )


def _signed_headers(parts: _Parts, headers: Mapping[str, list[str]]) -> _Headers:
    names = parts.names.split(";")
    if not _HEADER_NAMES.fullmatch(parts.names) or sorted(set(names)) != names:
        _refuse("the signed headers must be in order")
    if not parts.needed <= set(names):
        _refuse(f"the signature must cover {', '.join(sorted(parts.needed))}")
    if missing := [name for name in names if name not in headers]:
        _refuse(f"a signed header is missing: {missing[0]}", "SignatureDoesNotMatch")
    return tuple((name, ",".join(headers[name])) for name in names)


def _check_sizes(request: RawRequest) -> None:
    longest = max((len(value) for _, value in request.headers), default=0)
    if (
        len(request.path) > _LONGEST_PATH
        or len(request.query) > _LONGEST_QUERY
        or longest > _LONGEST_HEADER
        or len(request.headers) > _MOST_HEADERS
    ):
        _refuse("the path, the query or the headers are too large")


def _pairs(query: bytes) -> list[tuple[bytes, bytes]]:
    """The decoded parameters of a query. `+` is no space in signed requests."""
    found = []
    for part in query.split(b"&") if query else ():
        name, _, value = part.partition(b"=")
        found.append((unquote_to_bytes(name), unquote_to_bytes(value)))
    return found


def _by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """The values of each header without unnecessary spaces."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        text = " ".join(value.decode("latin-1").split())
        found.setdefault(name.decode("latin-1").lower(), []).append(text)
    if any(len(found.get(name, ())) > 1 for name in _SINGLE):
        _refuse("a header that may occur once occurs several times")
    return found


def _canonical_path(path: bytes) -> str:
    return quote(unquote_to_bytes(path))


def _canonical_query(pairs: _Pairs) -> str:
    quoted = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in quoted)


def _epoch(date: str) -> int | None:
    if not _TIME.fullmatch(date):
        return None
    try:
        return timegm(strptime(date, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return None


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
