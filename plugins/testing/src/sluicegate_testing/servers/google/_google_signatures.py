"""Checks V4 signed URLs as Google Cloud Storage does, based only on the received request.

The implementation follows "Canonical requests" and "Signatures" of the Google Cloud documentation, and
is independent of any signer.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_LONGEST = 604_800


@dataclass(frozen=True)
class SignatureCheck:
    """The keys that can sign URLs.

    Attributes:
        keys: Public keys by service account.
        secrets: HMAC secrets by access id.
    """

    keys: Mapping[str, RSAPublicKey]
    secrets: Mapping[str, str] = field(repr=False)

    def problem(self, method: str, target: str, headers: Mapping[str, str]) -> str | None:
        """Return why a request is rejected; `None` if its signature is valid and has not expired.

        The names of headers must be in lower case.
        """
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        signature = query.pop("X-Goog-Signature", "")
        principal, _, scope = query.get("X-Goog-Credential", "").partition("/")
        stamp = query.get("X-Goog-Date", "")
        if scope != f"{stamp[:8]}/auto/storage/goog4_request":
            return "MalformedCredential"
        if not _alive(stamp, query.get("X-Goog-Expires", "")):
            return "ExpiredToken"
        request = _canonical_request(method, parts.path, query, headers)
        algorithm = query.get("X-Goog-Algorithm", "")
        string = f"{algorithm}\n{stamp}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        good = self._good(algorithm, principal, scope, string.encode(), signature)
        return None if good else "SignatureDoesNotMatch"

    def _good(self, algorithm: str, principal: str, scope: str, string: bytes, signature: str) -> bool:
        if algorithm == "GOOG4-HMAC-SHA256" and principal in self.secrets:
            key = f"GOOG4{self.secrets[principal]}".encode()
            for part in scope.split("/"):
                key = hmac.digest(key, part.encode(), "sha256")
            return hmac.compare_digest(hmac.digest(key, string, "sha256").hex(), signature)
        if algorithm == "GOOG4-RSA-SHA256" and principal in self.keys:
            return _verifies(self.keys[principal], string, signature)
        return False


def _alive(stamp: str, expires: str) -> bool:
    try:
        began = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        seconds = int(expires)
    except ValueError:
        return False
    return 0 < seconds <= _LONGEST and began - 60 <= time.time() < began + seconds


def _canonical_request(
    method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> str:
    signed = query.get("X-Goog-SignedHeaders", "")
    pairs = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in query.items())
    return "\n".join(
        [
            method,
            quote(unquote(path), safe="/~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{headers.get(name, '')}" for name in signed.split(";")),
            "",
            signed,
            "UNSIGNED-PAYLOAD",
        ]
    )


def _verifies(key: RSAPublicKey, string: bytes, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        key.verify(bytes.fromhex(signature), string, PKCS1v15(), SHA256())
    except (InvalidSignature, ValueError):
        return False
    return True
