"""Stand-ins for Google's token services, the IAM credentials API and the metadata server.

There is no server to test with that narrows tokens, so these only give tokens and keep what they were
asked for: a test compares that with Google's documentation.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

from sluicegate.testing.secrets import keep_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

Json = dict[str, Any]

_METADATA = "/computeMetadata/v1/instance/service-accounts"


@dataclass(frozen=True)
class Account:
    """A service account with a key made for one test run."""

    email: str
    key: RSAPrivateKey = field(repr=False)

    @classmethod
    def invent(cls, email: str) -> Account:
        """A service account with a new RSA key."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        return cls(email, rsa.generate_private_key(65537, 2048))

    def key_document(self, token_uri: str) -> str:
        """The JSON that Google gives out for such a key."""
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return json.dumps(
            {
                "type": "service_account",
                "project_id": "test",
                "private_key_id": "1",
                "private_key": pem.decode(),
                "client_email": self.email,
                "token_uri": token_uri,
            }
        )

    def sign(self, message: bytes) -> bytes:
        """A signature, as the IAM credentials API makes it."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        return self.key.sign(message, PKCS1v15(), SHA256())


@dataclass
class GoogleApis:
    """Answers for one service account.

    Attributes:
        account: The only one that there is.
        tokens: Those given out, and when each ends (epoch seconds).
        asked: Path and body of each request, oldest first.
        token_seconds: Life of the tokens of `/token`.
        refuses: Paths whose end is refused with 403, until it is taken out.
    """

    account: Account
    tokens: dict[str, float] = field(default_factory=dict, repr=False)
    asked: list[tuple[str, Json]] = field(default_factory=list, repr=False)
    token_seconds: int = 3600
    refuses: set[str] = field(default_factory=set)

    def knows(self, authorization: str | None) -> bool:
        """Whether the header holds a token that was given out and is alive."""
        token = (authorization or "").removeprefix("Bearer ")
        return self.tokens.get(token, 0) > time.time()

    def subject_token(self) -> str:
        """What a workload shows to the Security Token Service, to be known as the account."""
        return self._given(3600)

    def answer(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Json] | None:
        """Status and document; `None` where the path is not one of these APIs."""
        ways: dict[str, Callable[[Json, Mapping[str, str]], tuple[int, Json]]] = {
            "/": self._here,
            f"{_METADATA}/default/": self._about_the_account,
            f"{_METADATA}/{self.account.email}/": self._about_the_account,
            f"{_METADATA}/default/token": self._token,
            "/token": self._token,
            "/v1/token": self._exchanged,
            f"/v1/projects/-/serviceAccounts/{self.account.email}:signBlob": self._signed,
            f"/v1/projects/-/serviceAccounts/{self.account.email}:generateAccessToken": self._shorter,
        }
        way = ways.get(unquote(path))
        if way is None:
            return None
        asked = _parsed(body)
        self.asked.append((path, asked))
        if any(path.endswith(refused) for refused in self.refuses):
            return 403, {"error": {"code": 403, "message": "Permission denied on service account"}}
        return way(asked, headers)

    def _here(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        """What tells that this is Google's cloud is the header `Metadata-Flavor`."""
        return 200, {}

    def _about_the_account(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        scopes = ["https://www.googleapis.com/auth/cloud-platform"]
        return 200, {"email": self.account.email, "scopes": scopes, "aliases": ["default"]}

    def _token(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        token = self._given(self.token_seconds)
        return 200, {
            "access_token": token,
            "expires_in": self.token_seconds,
            "token_type": "Bearer",
        }

    def _exchanged(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        end = self.tokens.get(asked.get("subject_token", ""), 0)
        if end <= time.time():
            return 400, {"error": "invalid_grant", "error_description": "unknown subject token"}
        given = {"access_token": self._given(end - time.time()), "token_type": "Bearer"}
        # Google leaves the end out where it is the subject token's.
        return 200, given if "options" in asked else {**given, "expires_in": 3600}

    def _signed(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        if not self.knows(headers.get("authorization")):
            return 401, {"error": {"code": 401}}
        signature = self.account.sign(base64.b64decode(asked["payload"]))
        return 200, {"keyId": "1", "signedBlob": base64.b64encode(signature).decode()}

    def _shorter(self, asked: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        if not self.knows(headers.get("authorization")):
            return 401, {"error": {"code": 401}}
        seconds = int(asked["lifetime"].removesuffix("s"))
        end = datetime.fromtimestamp(int(time.time() + seconds), UTC)
        return 200, {
            "accessToken": self._given(seconds),
            "expireTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def _given(self, seconds: float) -> str:
        token = f"ya29.{secrets.token_hex(24)}"
        self.tokens[token] = time.time() + seconds
        keep_secret(token)
        return token


def _parsed(body: bytes) -> Json:
    """The fields of a JSON or form body; Google's `options` are JSON, quoted once more."""
    if body.startswith(b"{"):
        document: Json = json.loads(body)
        return document
    form: Json = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    if "options" in form:
        form["options"] = json.loads(unquote(form["options"]))
    return form
