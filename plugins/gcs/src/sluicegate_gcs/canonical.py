"""V4 signed URLs of Google Cloud Storage: strings to sign, and the resulting URLs.

Most of a URL is the same for an entire batch, so that each URL needs only one hash over its key and a
cached rest. Order and encoding follow "Signatures" and "Canonical requests" of the Google Cloud
documentation. URLs equal those of google-cloud-storage's `generate_signed_url` byte for byte.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import quote

MAX_EXPIRES_IN: Final = 604_800
"""Maximum lifetime of a signed URL, in seconds (seven days)."""


@dataclass(frozen=True, slots=True)
class SignedUrls:
    """URLs of one bucket, for one time, one method and one signer, before they are signed.

    Attributes:
        at: Time of signing, epoch seconds.
        expires_in: Lifetime in seconds from `at`, 1 to 604,800.
    """

    origin: str
    bucket: str
    algorithm: str
    principal: str
    at: int
    expires_in: int
    method: str = "GET"

    @property
    def day(self) -> str:
        """Return the day of signing, from which HMAC keys are derived."""
        return self._stamp[:8]

    def strings_to_sign(self, keys: Sequence[str]) -> list[bytes]:
        """Return the strings to sign, one per key (percent-encoded)."""
        host = self.origin.partition("://")[2]
        begin = sha256(f"{self.method}\n/{self.bucket}/".encode())
        end = f"\n{self._query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD".encode()
        head = f"{self.algorithm}\n{self._stamp}\n{self._scope}\n"
        strings = []
        for key in keys:
            request = begin.copy()
            request.update(key.encode() + end)
            strings.append((head + request.hexdigest()).encode())
        return strings

    def urls(self, keys: Sequence[str], signatures: Sequence[str]) -> list[str]:
        """Return URLs of keys (percent-encoded) with their hexadecimal signatures."""
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
