"""Signs and verifies file links."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

from sluicegate.api import LinkSigner
from sluicegate.api.errors import PermissionDenied
from sluicegate.api.models import Presigned
from sluicegate.signing.keyring import KeyRing

_RULE = "link"
_ALGORITHM = "AWS4-HMAC-SHA256"
_DATE_FORMAT = "%Y%m%dT%H%M%SZ"
_SHAPES = {
    "X-Amz-Algorithm": re.compile(_ALGORITHM),
    "X-Amz-Date": re.compile("[0-9]{8}T[0-9]{6}Z"),
    "X-Amz-Expires": re.compile("[0-9]{1,9}"),
    "X-Amz-Signature": re.compile("[0-9a-f]{64}"),
}
_UNQUOTED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/="
_UNSAFE = re.compile(b"[^" + re.escape(_UNQUOTED) + b"]")


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys of file links, derived from those of the gateway."""
    return keys.derive("content links")


def link_maker(public_url: str, keys: KeyRing) -> Callable[[str], LinkSigner]:
    """Return a function that makes the signer of a storage's links, given its name."""
    secret = link_keys(keys).signing

    def links(storage: str) -> LinkSigner:
        return ContentLinks(secret, public_url, storage)

    return links


class ContentLinks:
    """Signs links to the objects of one storage instance; the core's `LinkSigner`."""

    def __init__(
        self, key: bytes, base_url: str, storage_name: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._key = key
        self._storage_name = storage_name
        self._base = f"{base_url.rstrip('/')}/content/{quote(storage_name, safe='')}/"
        self._clock = clock

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Links to objects, in the order of `paths`.

        Paths are not checked here. The storage does that when the link is opened.
        """
        issued_at = int(self._clock())
        date = datetime.fromtimestamp(issued_at, UTC).strftime(_DATE_FORMAT)
        keyed_hash = _keyed_hash(self._key, self._storage_name, date, str(expires_in))
        query = (
            f"?X-Amz-Algorithm={_ALGORITHM}&X-Amz-Date={date}"
            f"&X-Amz-Expires={expires_in}&X-Amz-Signature="
        )
        urls = []
        for path in map(str.encode, paths):
            signature = keyed_hash.copy()
            signature.update(path)
            urls.append(f"{self._base}{_quoted(path)}{query}{signature.hexdigest()}")
        return Presigned(urls, (issued_at + expires_in) * 1000)


def verify(keys: KeyRing, storage_name: str, path: str, query: str, now: float) -> None:
    """Verify a link that was opened."""
    pairs = parse_qsl(query, keep_blank_values=True)
    parameters = dict(pairs)
    # The patterns allow no newline, so that no two links have the same signed text.
    if len(pairs) != len(_SHAPES) or not all(
        shape.fullmatch(parameters.get(name, "")) for name, shape in _SHAPES.items()
    ):
        raise _refused()
    date, lifetime = parameters["X-Amz-Date"], parameters["X-Amz-Expires"]

    def signature(key: bytes) -> bytes:
        keyed_hash = _keyed_hash(key, storage_name, date, lifetime)
        keyed_hash.update(path.encode())
        return keyed_hash.digest()

    if not keys.accepts(bytes.fromhex(parameters["X-Amz-Signature"]), signature):
        raise _refused()
    issued_at = datetime.strptime(date, _DATE_FORMAT).replace(tzinfo=UTC).timestamp()
    if now >= issued_at + int(lifetime):
        expired = PermissionDenied("this link has expired: query the table again for new ones")
        raise expired.decided_by(_RULE)


def _refused() -> PermissionDenied:
    invalid = PermissionDenied("this link is not valid: use it exactly as the query returned it")
    return invalid.decided_by(_RULE)


def _keyed_hash(key: bytes, storage_name: str, date: str, lifetime: str) -> hmac.HMAC:
    """The state of the signature before the path. Copying it for each link saves one hash per link."""
    head = f"{_ALGORITHM}\n{quote(storage_name, safe='')}\n{date}\n{lifetime}\n"
    return hmac.new(key, head.encode(), hashlib.sha256)


def _quoted(path: bytes) -> str:
    """Percent-encode a path. Nearly all paths need no change, which `translate` detects quickly."""
    if path.translate(None, _UNQUOTED):
        path = _UNSAFE.sub(lambda found: b"%%%02X" % ord(found[0]), path)
    return path.decode()
