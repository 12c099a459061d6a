"""A small, real OIDC issuer on loopback: discovery, keys that can be replaced, and tokens."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from jwt.algorithms import AllowedPrivateKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from sluicegate_testing.servers._certificate import CertificateFiles

DISCOVERY, JWKS, TOKEN = "/.well-known/openid-configuration", "/keys", "/token"
AUDIENCE = "sluicegate"
CLIENT, SECRET = "client-7", "its secret"


@cache
def private_key(algorithm: str, number: int = 0, bits: int = 2048) -> AllowedPrivateKeys:
    """One of a few keys for an algorithm: keys are slow to make."""
    if algorithm.startswith(("RS", "PS")):
        return generate_rsa(65_537, bits)
    if algorithm == "EdDSA":
        return Ed25519PrivateKey.generate()
    return generate_private_key(SECP384R1() if algorithm == "ES384" else SECP256R1())


def public_jwk(algorithm: str, key: AllowedPrivateKeys, **members: Any) -> dict[str, Any]:
    """The public half of a key, as an issuer publishes it."""
    kind: Any = RSAAlgorithm if algorithm.startswith(("RS", "PS")) else ECAlgorithm
    kind = OKPAlgorithm if algorithm == "EdDSA" else kind
    return {**kind.to_jwk(key.public_key(), as_dict=True), "use": "sig", **members}


@dataclass
class Issuer:
    """What is published, what was asked, and a way to sign."""

    address: str
    keys: dict[str, tuple[str, AllowedPrivateKeys]] = field(default_factory=dict)
    answers: dict[str, tuple[int, Mapping[str, str], bytes]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    posted: list[tuple[str | None, bytes]] = field(default_factory=list)

    def add_key(self, key_id: str, algorithm: str = "RS256", number: int = 0) -> None:
        """Publish one more key."""
        self.keys[key_id] = algorithm, private_key(algorithm, number)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """The claims of a good token, but for changes; `None` removes one."""
        now = int(time.time())
        good = {"iss": self.address, "aud": AUDIENCE, "sub": "acme", "iat": now, "exp": now + 600}
        return {name: value for name, value in (good | changed).items() if value is not None}

    def token(self, key_id: str = "first", **changed: Any) -> str:
        """A token signed by a published key."""
        algorithm, key = self.keys[key_id]
        return jwt.encode(self.claims(**changed), key, algorithm, headers={"kid": key_id})

    def fail(self, path: str, status: int = 500, body: bytes = b"", **headers: str) -> None:
        """Answer something else."""
        self.answers[path] = status, headers, body

    def answer(self, path: str, authorization: str | None) -> tuple[int, Mapping[str, str], bytes]:
        """What is answered to a request."""
        self.asked[path] += 1
        if path in self.answers:
            return self.answers[path]
        document = self._document(path, authorization)
        if document is None:
            return 404, {}, b"{}"
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()

    def _document(self, path: str, authorization: str | None) -> dict[str, Any] | None:
        if path == DISCOVERY:
            return {"issuer": self.address, "jwks_uri": self.address + JWKS}
        if path == JWKS:
            published = self.keys.items()
            return {"keys": [public_jwk(alg, key, kid=key_id) for key_id, (alg, key) in published]}
        if path == TOKEN and authorization is not None:
            token = self.token(next(iter(self.keys)), sub=CLIENT, azp=CLIENT, jti=str(uuid4()))
            return {"access_token": token, "token_type": "Bearer", "expires_in": 600}
        return None


@contextmanager
def running_issuer(certificate: CertificateFiles | None = None) -> Iterator[Issuer]:
    """Serve an issuer with one RSA key until the block ends, over HTTPS where it has a certificate."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        # Each connection's handshake takes place in its own thread, when that reads.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "http" if certificate is None else "https"
    issuer = Issuer(f"{scheme}://127.0.0.1:{server.server_port}")
    issuer.add_key("first")
    server.issuer = issuer  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        issuer: Issuer = self.server.issuer  # type: ignore[attr-defined]
        status, headers, body = issuer.answer(self.path, self.headers["Authorization"])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.issuer.posted.append((self.headers["Authorization"], body))  # type: ignore[attr-defined]
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests ask what was asked."""
