"""The public keys of an issuer, parsed from its JWK set (RFC 7517). Imports PyJWT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import AllowedKeys, AllowedPublicKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

_SMALLEST_RSA_BITS = 2048
_OF_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_OF_CURVE = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
# The members of a public key. Private members, which an issuer may publish by mistake, are not read.
_PUBLIC = ("kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, and the algorithms that it can be used with."""

    key_id: str | None
    algorithms: frozenset[str]
    key: AllowedPublicKeys = field(repr=False)


class KeySet:
    """The usable keys of an issuer. Other keys are left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        entries = document.get("keys")
        if not isinstance(entries, list):
            raise ValueError("the document is not a JWK set")
        self._document = entries
        self._keys = [key for entry in entries if (key := _key(entry)) is not None]

    def __len__(self) -> int:
        return len(self._keys)

    def same_as(self, other: KeySet) -> bool:
        """Whether both are from equal documents."""
        return self._document == other._document

    def find(self, key_id: object, algorithm: object) -> VerificationKey | None:
        """Return the key that a token names; without a key id, the only one for the algorithm."""
        found: Sequence[VerificationKey] = [
            key for key in self._keys if algorithm in key.algorithms and key_id in (None, key.key_id)
        ]
        return found[0] if len(found) == 1 or (found and key_id is not None) else None


def _key(entry: object) -> VerificationKey | None:
    if not isinstance(entry, dict) or not _may_verify(entry):
        return None
    try:
        key = _public_key(entry)
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError):
        return None
    algorithms = _algorithms(key)
    if "alg" in entry:
        algorithms &= {entry["alg"]} if isinstance(entry["alg"], str) else frozenset()
    key_id = entry.get("kid")
    usable = algorithms and (key_id is None or isinstance(key_id, str))
    return VerificationKey(key_id, algorithms, key) if usable else None  # type: ignore[arg-type]


def _may_verify(entry: Mapping[str, Any]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    return entry.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def _public_key(entry: Mapping[str, Any]) -> AllowedKeys | None:
    """Return the key, or `None` for other kinds than public keys, such as symmetric keys."""
    public = {name: entry[name] for name in _PUBLIC if name in entry}
    match entry.get("kty"):
        case "RSA":
            return RSAAlgorithm.from_jwk(public)
        case "EC":
            return ECAlgorithm.from_jwk(public)
        case "OKP":
            return OKPAlgorithm.from_jwk(public)
        case _:
            return None


def _algorithms(key: AllowedKeys | None) -> frozenset[str]:
    match key:
        case RSAPublicKey() if key.key_size >= _SMALLEST_RSA_BITS:
            return _OF_RSA
        case EllipticCurvePublicKey():
            return frozenset({_OF_CURVE[key.curve.name]} if key.curve.name in _OF_CURVE else ())
        case Ed25519PublicKey():
            return frozenset({"EdDSA"})
        case _:
            return frozenset()
