"""Fakes of Google's token services, the IAM credentials API and the metadata server.

No test server can limit tokens. These fakes therefore only issue tokens and record the requests, which
a test compares with the Google Cloud documentation.
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

from sluicegate_testing.secrets import keep_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

Json = dict[str, Any]

_METADATA = "/computeMetadata/v1/instance/service-accounts"


@dataclass(frozen=True)
class Account:
    """A service account with a key for one test run."""

    email: str
    key: RSAPrivateKey = field(repr=False)

    @classmethod
    def invent(cls, email: str) -> Account:
        """Create a service account with a new RSA key."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        return cls(email, rsa.generate_private_key(65537, 2048))

    def key_document(self, token_uri: str) -> str:
        """Return the key in Google's JSON format."""
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
        """Return a signature in the format of the IAM credentials API."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        return self.key.sign(message, PKCS1v15(), SHA256())


@dataclass
class GoogleApis:
    """Responds for one service account.

    Attributes:
        account: The only service account.
        tokens: Issued tokens, and the expiry of each (epoch seconds).
        requests: Path and body of each request, oldest first.
        token_seconds: Lifetime of the tokens of `/token`.
        refuses: Path suffixes that are rejected with 403 while they are in this set.
    """

    account: Account
    tokens: dict[str, float] = field(default_factory=dict, repr=False)
    requests: list[tuple[str, Json]] = field(default_factory=list, repr=False)
    token_seconds: int = 3600
    refuses: set[str] = field(default_factory=set)

    def knows(self, authorization: str | None) -> bool:
        """Whether the header contains an issued token that has not expired."""
        token = (authorization or "").removeprefix("Bearer ")
        return self.tokens.get(token, 0) > time.time()

    def subject_token(self) -> str:
        """The token with which a workload authenticates at the Security Token Service."""
        return self._given(3600)

    def answer(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Json] | None:
        """Return status and document; `None` if the path does not belong to these APIs."""
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
        request = _parsed(body)
        self.requests.append((path, request))
        if any(path.endswith(refused) for refused in self.refuses):
            return 403, {"error": {"code": 403, "message": "Permission denied on service account"}}
        return way(request, headers)

    def _here(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        """Return a response with the header `Metadata-Flavor`, by which clients detect Google."""
        return 200, {}

    def _about_the_account(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        scopes = ["https://www.googleapis.com/auth/cloud-platform"]
        return 200, {"email": self.account.email, "scopes": scopes, "aliases": ["default"]}

    def _token(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        token = self._given(self.token_seconds)
        return 200, {
            "access_token": token,
            "expires_in": self.token_seconds,
            "token_type": "Bearer",
        }

    def _exchanged(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        end = self.tokens.get(request.get("subject_token", ""), 0)
        if end <= time.time():
            return 400, {"error": "invalid_grant", "error_description": "unknown subject token"}
        given = {"access_token": self._given(end - time.time()), "token_type": "Bearer"}
        # Google omits the expiry if it is that of the subject token.
        return 200, given if "options" in request else {**given, "expires_in": 3600}

    def _signed(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        if not self.knows(headers.get("authorization")):
            return 401, {"error": {"code": 401}}
        signature = self.account.sign(base64.b64decode(request["payload"]))
        return 200, {"keyId": "1", "signedBlob": base64.b64encode(signature).decode()}

    def _shorter(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Json]:
        if not self.knows(headers.get("authorization")):
            return 401, {"error": {"code": 401}}
        seconds = int(request["lifetime"].removesuffix("s"))
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
    """Return the fields of a JSON or form body. Google's `options` are JSON, quoted a second time."""
    if body.startswith(b"{"):
        document: Json = json.loads(body)
        return document
    form: Json = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    if "options" in form:
        form["options"] = json.loads(unquote(form["options"]))
    return form
