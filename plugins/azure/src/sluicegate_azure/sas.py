"""Shared access signatures (SAS) for reading many blobs, a directory, or a container.

Most of a signature is the same for an entire batch, so that each blob needs only one HMAC from cached
states. The string to sign follows "Create a user delegation SAS" and "Create a service SAS" of the
Azure Storage REST reference. Tokens equal those of azure-storage-blob byte for byte.
"""

from __future__ import annotations

import time
from binascii import b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs, quote

from sluicegate.api import TemporaryCredentials, hmac_states, quote_keys


@dataclass(frozen=True, slots=True)
class Delegation:
    """Identity and validity of a user delegation key, in Azure's notation.

    Attributes:
        start: Start of the key's validity, ISO 8601 in UTC.
    """

    oid: str
    tid: str
    start: str
    expiry: str
    service: str
    version: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A signing key; `repr` shows no secret.

    Attributes:
        value: The key's bytes.
        delegation: The parts of a user delegation key that its signatures contain; `None` for an
            account key.
        expires_at: Expiry of its signatures, epoch milliseconds; `None` if they don't expire.
    """

    value: bytes = field(repr=False)
    delegation: Delegation | None = None
    expires_at: int | None = None


_READING = frozenset("rle")


@dataclass(frozen=True, slots=True)
class VendedSas:
    """A token with read access; `repr` shows no secret.

    Attributes:
        expires_at: Its expiry, epoch milliseconds.
    """

    token: str = field(repr=False)
    expires_at: int
    grants_more: bool


def parse_vended_sas(vended: TemporaryCredentials) -> VendedSas | None:
    """Return the token of vended credentials; `None` if they are incomplete, or have no expiry."""
    token = vended.secret.get("sas_token", "").removeprefix("?")
    fields = {name: values[0] for name, values in parse_qs(token).items()}
    ends = [end for end in (vended.expires_at, _end(fields.get("se"))) if end is not None]
    if "sig" not in fields or not ends:
        return None
    return VendedSas(token, min(ends), not set(fields.get("sp", "")) <= _READING)


def _end(expiry: str | None) -> int | None:
    """Return epoch milliseconds of a SAS's `se`, which is in UTC even without a zone."""
    try:
        moment = datetime.fromisoformat(expiry or "")
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


VERSION: Final = "2026-04-06"
"""Service version of the signatures: the first version with this string to sign."""

_READ_BLOB: Final = "r"


class SasSigner:
    """Signs for one container of one account with one key."""

    def __init__(self, account: str, container: str, key: SigningKey, *, https_only: bool) -> None:
        self._resource = f"/blob/{account}/{container}"
        self._key = key
        self._protocol = "https" if https_only else ""

    def sign_blobs(self, base: str, names: Sequence[str], end: int) -> list[str]:
        """Return URLs, each of which reads one blob."""
        expiry = _moment(end)
        begin, rest = self._around_resource(_READ_BLOB, expiry, "b")
        inner, outer = hmac_states(self._key.value)
        inner.update(f"{begin}{self._resource}/".encode())
        closing = rest.encode()
        query = f"?{self._query(_READ_BLOB, expiry, 'b')}&sig="
        copy_inner, copy_outer = inner.copy, outer.copy
        urls: list[str] = []
        for name, quoted in zip(names, quote_keys(names), strict=True):
            message = copy_inner()
            message.update(name.encode() + closing)
            signature = copy_outer()
            signature.update(message.digest())
            urls.append(f"{base}{quoted}{query}{_base64(signature.digest())}")
        return urls

    def directory_token(self, directory: str, permissions: str, end: int) -> str:
        """Return a SAS of everything below a directory of a hierarchical account (`sr=d`)."""
        return self._token(f"/{directory}", permissions, end, "d", depth=directory.count("/") + 1)

    def container_token(self, permissions: str, end: int) -> str:
        """Return a SAS of the entire container (`sr=c`)."""
        return self._token("", permissions, end, "c")

    def _token(self, path: str, permissions: str, end: int, kind: str, depth: int | None = None) -> str:
        expiry = _moment(end)
        begin, rest = self._around_resource(permissions, expiry, kind)
        inner, outer = hmac_states(self._key.value)
        inner.update(f"{begin}{self._resource}{path}{rest}".encode())
        outer.update(inner.digest())
        query = self._query(permissions, expiry, kind, depth)
        return f"{query}&sig={_base64(outer.digest())}"

    def _around_resource(self, permissions: str, expiry: str, kind: str) -> tuple[str, str]:
        """Return the string to sign, before and after the canonicalized resource.

        Empty lines are fields that these signatures don't use.
        """
        key = self._key.delegation
        delegation = (
            [""]  # id of a stored policy
            if key is None
            else [
                *(key.oid, key.tid, key.start, key.expiry, key.service, key.version),
                *("", "", ""),  # authorized and unauthorized agent, correlation id
                *("", ""),  # tenant and object id of a delegated user
            ]
        )
        lines = [
            "",
            *delegation,
            "",  # IP range
            self._protocol,
            VERSION,
            kind,
            *("", ""),  # snapshot, encryption scope
            *(() if key is None else ("", "")),  # signed request headers and query parameters
            *("", "", "", "", ""),  # overridden response headers
        ]
        return f"{permissions}\n\n{expiry}\n", "\n".join(lines)

    def _query(self, permissions: str, expiry: str, kind: str, depth: int | None = None) -> str:
        """Return the token without its signature, in the order that azure-storage-blob uses."""
        key = self._key.delegation
        fields = {
            "se": expiry,
            "sp": permissions,
            "spr": self._protocol,
            "sv": VERSION,
            "sr": kind,
            "sdd": "" if depth is None else str(depth),
        }
        if key is not None:
            fields |= {
                "skoid": key.oid,
                "sktid": key.tid,
                "skt": key.start,
                "ske": key.expiry,
                "sks": key.service,
                "skv": key.version,
            }
        return "&".join(f"{name}={quote(value)}" for name, value in fields.items() if value)


def _moment(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _base64(digest: bytes) -> str:
    """Return Base64 as encoded in a query; for 32 bytes, it always ends with one `=`."""
    return b2a_base64(digest, newline=False)[:-1].decode().replace("+", "%2B") + "%3D"
