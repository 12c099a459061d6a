"""V4 signed URLs of Google Cloud Storage: what is signed, and the URLs that come of it.

Most of it is the same for a whole batch; what is left for each URL is one hash over its key and the
kept rest. Order and spelling follow "Signatures" and "Canonical requests" of Google's documentation,
and equal google-cloud-storage's `generate_signed_url` byte for byte.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import quote

MAX_EXPIRES_IN: Final = 604_800
"""Longest life of a signed URL, in seconds (seven days)."""


@dataclass(frozen=True, slots=True)
class SignedUrls:
    """GET URLs of one bucket, for one instant and one signer; all but their signatures.

    Attributes:
        origin: Scheme, host and port that recipients reach.
        bucket: The bucket's name; it stands in the path.
        algorithm: `GOOG4-RSA-SHA256` or `GOOG4-HMAC-SHA256`.
        principal: Who signs: a service account's address, or an access id.
        at: The signing instant, epoch seconds.
        expires_in: Seconds from `at` on, 1 to 604,800.
    """

    origin: str
    bucket: str
    algorithm: str
    principal: str
    at: int
    expires_in: int

    @property
    def day(self) -> str:
        """The day of the signing instant, as HMAC keys are derived for it."""
        return self._stamp[:8]

    def strings_to_sign(self, keys: Sequence[str]) -> list[bytes]:
        """What the signer signs, one for each key (percent-encoded)."""
        host = self.origin.partition("://")[2]
        begin = sha256(f"GET\n/{self.bucket}/".encode())
        end = f"\n{self._query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD".encode()
        head = f"{self.algorithm}\n{self._stamp}\n{self._scope}\n"
        strings = []
        for key in keys:
            request = begin.copy()
            request.update(key.encode() + end)
            strings.append((head + request.hexdigest()).encode())
        return strings

    def urls(self, keys: Sequence[str], signatures: Sequence[str]) -> list[str]:
        """The URLs of keys (percent-encoded), given the signatures in hexadecimal digits."""
        begin = f"{self.origin}/{self.bucket}/"
        end = f"?{self._query}&X-Goog-Signature="
        return [
            f"{begin}{key}{end}{signature}" for key, signature in zip(keys, signatures, strict=True)
        ]

    @property
    def _stamp(self) -> str:
        return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.at))

    @property
    def _scope(self) -> str:
        return f"{self.day}/auto/storage/goog4_request"

    @property
    def _query(self) -> str:
        return (
            f"X-Goog-Algorithm={self.algorithm}"
            f"&X-Goog-Credential={quote(f'{self.principal}/{self._scope}', safe='~')}"
            f"&X-Goog-Date={self._stamp}&X-Goog-Expires={self.expires_in}&X-Goog-SignedHeaders=host"
        )
