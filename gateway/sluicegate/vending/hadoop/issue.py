"""Issues delegation tokens: gives a token back that is shown and still good, or makes a new one.

Source: s3a-delegation-tokens.md, "Architecture of the S3A Delegation Token Support", "Token issuing".

A token's password, which S3A does not use, is what Hadoop means it to be: the proof, by a key of the
issuer's, that it made the identifier. So the gateway knows its tokens again without keeping them.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import orjson

from sluicegate.api import TemporaryCredentials, UnsupportedOperation
from sluicegate.clock import epoch_ms
from sluicegate.delegation_tokens import (
    EncryptionSecrets,
    S3ATokenIdentifier,
    TokenBinding,
    TokenIssuingPolicy,
)
from sluicegate.errors import InvalidRequest
from sluicegate.keyring import KeyRing
from sluicegate.nouns import Principal
from sluicegate.vending.hadoop.buckets import BucketScope
from sluicegate.vending.hadoop.configuration import hadoop_configuration
from sluicegate.vending.hadoop.identifier import (
    Layout,
    decode_identifier,
    encode_identifier,
    guarded_created,
)
from sluicegate.vending.hadoop.token import Token
from sluicegate.vending.issuance import Vending


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a recipient asks for.

    Attributes:
        layout: That of its Hadoop version.
        origin: What the token shall say of where it comes from; made up where it is `None`.
        shown: Tokens that it has.
    """

    binding: TokenBinding
    layout: Layout
    renewer: str = ""
    origin: str | None = None
    shown: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token for one bucket.

    Attributes:
        bonded: It is the one that was shown.
        configuration: Properties of Hadoop that its user sets; of a bonded one, without the store's
            address, which was told with the token.
    """

    scope: BucketScope
    token: Token
    identifier: S3ATokenIdentifier
    bonded: bool
    configuration: dict[str, str]


class TokenIssuer:
    """Issues tokens.

    Args:
        vending: Gives the credentials, and records it.
        keys: Prove that a token is the gateway's own.
        now: Epoch milliseconds.
    """

    def __init__(self, vending: Vending, keys: KeyRing, now: Callable[[], int] = epoch_ms) -> None:
        self._vending = vending
        self._keys = keys
        self._now = now

    async def issue(
        self, principal: Principal, scope: BucketScope, request: TokenRequest
    ) -> IssuedToken:
        """The token for one bucket. Whether the tables may be read in this way, the door has checked.

        Raises:
            InvalidRequest: A token is shown for the bucket that is of another kind.
            UnsupportedOperation: The binding issues no tokens, or they cannot carry the credentials.
            PermissionDenied: The storage's configuration does not allow the binding.
            StorageError: There are no credentials now.
        """
        policy = request.binding.issuing_policy
        if policy is not TokenIssuingPolicy.NO_TOKENS_AVAILABLE:
            bonded = await self._bonded(principal, scope, request)
            if bonded is not None:
                return bonded
        if policy is not TokenIssuingPolicy.REQUEST_NEW_TOKEN:
            raise UnsupportedOperation(
                f"the binding {request.binding.name} issues {policy.value}: ask for another one"
            )
        return await self._unbonded(principal, scope, request)

    async def _bonded(
        self, principal: Principal, scope: BucketScope, request: TokenRequest
    ) -> IssuedToken | None:
        for token in request.shown:
            if token.service != scope.service:
                continue
            _check_kind(token, request.binding)
            if self._is_own(token, principal, scope):
                identifier, layout = decode_identifier(token.identifier)
                alive = not identifier.max_date or identifier.max_date > self._now()
                since = await self._vending.revoked_before(principal)
                if alive and layout is request.layout and identifier.issue_date > since:
                    settings = hadoop_configuration(scope.bucket, request.binding, {})
                    return IssuedToken(scope, token, identifier, True, settings)
        return None

    def _is_own(self, token: Token, principal: Principal, scope: BucketScope) -> bool:
        """Whether the gateway made the token, for this recipient and for what it asks to open now."""
        return self._keys.accepts(token.password, lambda key: _proof(key, token, principal, scope))

    async def _unbonded(
        self, principal: Principal, scope: BucketScope, request: TokenRequest
    ) -> IssuedToken:
        uuid = str(uuid4())
        credentials = await self._credentials(principal, scope, request.binding, uuid)
        now = self._now()
        names = ", ".join(table.shared.full_name for table in scope.tables)
        identifier = S3ATokenIdentifier(
            uri=scope.service,
            owner=principal.name,
            credentials=request.binding.marshal(credentials),
            encryption=EncryptionSecrets(
                credentials.connection.get("encryption_algorithm", ""),
                credentials.connection.get("encryption_key", ""),
            ),
            renewer=request.renewer,
            issue_date=now,
            max_date=credentials.expires_at or 0,
            origin=f"sluicegate for {names}" if request.origin is None else request.origin,
            uuid=uuid,
            created=guarded_created(now, request.layout),
        )
        encoded = encode_identifier(identifier, request.layout)
        unproved = Token(encoded, request.binding.kind, scope.service)
        proof = _proof(self._keys.signing, unproved, principal, scope)
        settings = hadoop_configuration(scope.bucket, request.binding, credentials.connection)
        token = Token(encoded, request.binding.kind, scope.service, proof)
        return IssuedToken(scope, token, identifier, False, settings)

    async def _credentials(
        self, principal: Principal, scope: BucketScope, binding: TokenBinding, uuid: str
    ) -> TemporaryCredentials:
        """Credentials for all directories at once, recorded for each table.

        The first table's entry in the ledger has the token's UUID, which the store's logs show.
        """
        self._check_one_vendor(scope)
        first, *others = scope.tables
        credentials = await self._vending.issue(
            principal,
            first.shared,
            first.source,
            scope.locations,
            kind="hadoop-token",
            binding=binding.credentials,
            entry_id=uuid,
        )
        for table in others:
            credentials = await self._vending.issue(
                principal,
                table.shared,
                table.source,
                scope.locations,
                kind="hadoop-token",
                binding=binding.credentials,
            )
        return credentials

    def _check_one_vendor(self, scope: BucketScope) -> None:
        find = self._vending.vendors.find
        vendors = {id(find(table.source, each)) for table in scope.tables for each in scope.locations}
        if len(vendors) > 1:
            raise UnsupportedOperation(
                f"the tables in {scope.service} cannot be opened by one token, and Hadoop takes only "
                "one for a bucket: ask for them apart, into files of their own"
            )


def _check_kind(token: Token, binding: TokenBinding) -> None:
    if token.kind != binding.kind:
        raise InvalidRequest(
            f"token mismatch: expected a token for {token.service} of kind {binding.kind}, but the one "
            f"that is shown is of kind {token.kind[:80]}"
        )


def _proof(key: bytes, token: Token, principal: Principal, scope: BucketScope) -> bytes:
    """What only this gateway can say of a token: whose it is, and what it opens."""
    bound = orjson.dumps([principal.id, token.kind, token.service, scope.locations])
    return hmac.digest(key, len(bound).to_bytes(4) + bound + token.identifier, "sha256")
