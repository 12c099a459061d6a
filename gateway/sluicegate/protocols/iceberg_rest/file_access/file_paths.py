"""Paths of files for Iceberg clients, each with a proof that the recipient's view has the file.

A client returns a path when it requests a file. Because the path carries its own proof, the gateway
does not need the table's snapshot to decide: the cost does not depend on the size of the table.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from base64 import urlsafe_b64encode
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from sluicegate.access.partition_filter import PartitionFilter
from sluicegate.api import CatalogTable, PermissionDenied, Principal, SharedTable, hmac_states
from sluicegate.signing.keyring import KeyRing

BUCKET: Final = "SG"
"""The bucket in clients' paths.

It is too short for a bucket of AWS: a client that ignores `s3.endpoint` reads nothing of others.
"""


def location_of(shared: SharedTable) -> str:
    """The location of a shared table for clients, which all of its paths begin with."""
    return f"s3://{BUCKET}/{_name_of(shared)}"


def _name_of(shared: SharedTable) -> str:
    """A name of fixed length, so that no location is the beginning of another one."""
    digest = hashlib.sha256(f"{shared.share_id}\n{shared.id}".encode()).digest()
    return urlsafe_b64encode(digest[:12]).decode()


_UNQUOTED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/="
_UNSAFE = re.compile(b"[^" + re.escape(_UNQUOTED) + b"]")
_UNSAFE_OR_SLASH = re.compile(b"[^" + re.escape(_UNQUOTED.replace(b"/", b"")) + b"]")


def quote_path(path: bytes) -> str:
    """Quote a path. Nearly all paths need no change, which `translate` detects quickly."""
    if b"/." in path or b"//" in path or path[:1] in b"./":
        return _UNSAFE_OR_SLASH.sub(_percent, path).decode()
    if path.translate(None, _UNQUOTED):
        return _UNSAFE.sub(_percent, path).decode()
    return path.decode()


def quote_paths(paths: Sequence[bytes]) -> list[str]:
    """Quote paths. If all of them need no change, this is detected once for all."""
    text = b"\n/".join((b"", *paths))
    safe = text.count(b"\n") == len(paths) and not text.translate(None, _UNQUOTED + b"\n")
    if not safe or b"/." in text or b"//" in text:
        return [quote_path(path) for path in paths]
    return text.decode().split("\n/")[1:]


def unquote_path(quoted: str) -> bytes | None:
    """The path that `quote_path` quoted. `None` for any other text."""
    if not quoted.isascii():
        return None
    path = unquote_to_bytes(quoted)
    return path if path and quote_path(path) == quoted else None


def _percent(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % ord(found[0])


_PURPOSE = "iceberg file paths"
_TAG = 18  # bytes: more than 128 bits, and no padding in base64
_ISSUES_PER_LIFETIME = 10
_KEY = re.compile(
    r"(?P<table>[A-Za-z0-9_-]{16})/(?P<version>0|[1-9][0-9]{0,18})-(?P<issued>0|[1-9][0-9]{0,11})-(?P<tag>[A-Za-z0-9_-]{24})"
    r"/(?P<path>.+)",
    re.DOTALL,
)
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_AGAIN = "load the table again, or plan the scan again, and use the paths exactly as they are returned"


@dataclass(frozen=True, slots=True)
class ProvenFile:
    """A file that is in a recipient's view of a table.

    Attributes:
        issued_at: When the path was issued, epoch seconds.
    """

    path: str
    version: int
    issued_at: int


class ProvenPaths:
    """The paths of one view; see `FilePaths.of_view`.

    Attributes:
        issued_at: Rounded time of issue, epoch seconds. Paths of the same view and time are identical.
    """

    def __init__(self, proofs: _Proofs, location: str, version: int, issued_at: int) -> None:
        self.version = version
        self.issued_at = issued_at
        self._proofs = proofs
        self._start = f"{location}/{version}-{issued_at}-"

    def of(self, paths: Sequence[str]) -> list[str]:
        """Paths of files, in their order; see `ViewPaths`."""
        encoded = [path.encode() for path in paths]
        tags = self._proofs.tags(encoded)
        text = b2a_base64(b"".join(tags), newline=False).translate(_TO_URL_SAFE).decode()
        start, width = self._start, _TAG * 4 // 3
        return [
            f"{start}{text[at : at + width]}/{path}"
            for at, path in zip(range(0, len(text), width), quote_paths(encoded), strict=True)
        ]


class FilePaths:
    """Issues and verifies paths.

    A proof is an HMAC over the recipient, the shared table, the table in its catalog, the limits of the
    share, the version, the time of issue, and the path. A table that was created again, or whose share
    has other limits, has other proofs.
    """

    def __init__(self, keys: KeyRing, lifetime: int, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys.derive(_PURPOSE)
        self._lifetime = lifetime
        self._step = max(lifetime // _ISSUES_PER_LIFETIME, 1)
        self._clock = clock

    def of_view(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        version: int,
        issued_at: int | None = None,
    ) -> ProvenPaths:
        """The paths of a recipient's view of one version.

        Args:
            issued_at: Time of issue of an earlier view, epoch seconds. The default is now, rounded
                down to a tenth of the lifetime, so that responses can be cached.
        """
        if issued_at is None:
            now = int(self._clock())
            issued_at = now - now % self._step
        view = view_identity(principal, shared, source)
        proofs = _Proofs(self._keys.signing, view, version, issued_at)
        return ProvenPaths(proofs, location_of(shared), version, issued_at)

    def verify(
        self, principal: Principal, shared: SharedTable, source: CatalogTable, key: str
    ) -> ProvenFile:
        """Verify a path that a client sent."""
        match = _KEY.fullmatch(key)
        path = None if match is None else unquote_path(match["path"])
        if match is None or path is None:
            raise _refused(f"this is not the path of a file of {shared.full_name}: {_AGAIN}")
        view, encoded = view_identity(principal, shared, source), path
        version, issued_at = int(match["version"]), int(match["issued"])

        def tag(secret: bytes) -> bytes:
            (found,) = _Proofs(secret, view, version, issued_at).tags([encoded])
            return found

        named = match["table"] == _name_of(shared)
        if not named or not self._keys.accepts(_decoded(match["tag"]), tag):
            raise _refused(
                f"this path does not give you access to a file of {shared.full_name}, or what is "
                f"shared has changed: {_AGAIN}"
            )
        if self._clock() >= issued_at + self._lifetime:
            raise _refused(f"this path of a file of {shared.full_name} has expired: {_AGAIN}")
        return ProvenFile(path.decode(), version, issued_at)


def _refused(message: str) -> PermissionDenied:
    return PermissionDenied(message).decided_by("file path")


def _decoded(tag: str) -> bytes:
    return a2b_base64(tag.encode().translate(_FROM_URL_SAFE))


class _Proofs:
    """Makes the proofs of paths."""

    def __init__(self, key: bytes, view: bytes, version: int, issued_at: int) -> None:
        self._inner, self._outer = hmac_states(key)
        self._inner.update(b"%b\n%d\n%d\n" % (view, version, issued_at))

    def tags(self, paths: Sequence[bytes]) -> list[bytes]:
        """The proofs of some paths."""
        copy_inner, copy_outer, tags = self._inner.copy, self._outer.copy, []
        for path in paths:
            message = copy_inner()
            message.update(path)
            tag = copy_outer()
            tag.update(message.digest())
            tags.append(tag.digest()[:_TAG])
        return tags


def view_identity(principal: Principal, shared: SharedTable, source: CatalogTable) -> bytes:
    """Identifies what a recipient can read of a table: equal if recipient, table and limits are."""
    # JSON contains no line feeds, which separate it from the rest of what is signed.
    limits = (shared.ref, shared.start_version, shared.history, _partitions(principal, shared))
    names = (principal.id, shared.share_id, shared.id, source.id, source.location)
    return json.dumps([*names, *limits]).encode()


def _partitions(principal: Principal, shared: SharedTable) -> list[tuple[str, str | None]] | None:
    """The shared partitions by column, with the recipient's properties."""
    if shared.partition_filter is None:
        return None
    return [
        (
            term.column,
            term.value if isinstance(term.value, str) else principal.properties.get(term.value.name),
        )
        for term in PartitionFilter.parse(shared.partition_filter).terms
    ]
