"""Issues delegation tokens: returns a presented token if it is still valid, or creates a new one.

Source: S3A token architecture, "Architecture of the S3A Delegation Token Support", "Token issuing".

As in Hadoop, a token's password proves with a key of the issuer that the issuer created the identifier.
S3A does not use it. With the password, the gateway recognizes its tokens without storing them.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

import orjson

from sluicegate._util.clock import epoch_ms
from sluicegate.api import TemporaryCredentials, UnsupportedOperation
from sluicegate.api.errors import InvalidRequest
from sluicegate.api.hadoop_tokens import (
    EncryptionSecrets,
    S3ATokenIdentifier,
    TokenBinding,
    TokenIssuingPolicy,
)
from sluicegate.api.principals import Principal
from sluicegate.signing.keyring import KeyRing
from sluicegate.vending.hadoop.buckets import BucketScope
from sluicegate.vending.hadoop.identifier import (
    Layout,
    decode_identifier,
    encode_identifier,
    guarded_created,
)
from sluicegate.vending.hadoop.token import HadoopToken
from sluicegate.vending.issue import Vending

# Without a key in the configuration, this provider has no credentials. So a missing token, or one for
# another bucket, is an error instead of a use of the machine's own credentials.
_PINNED_PROVIDER = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"


def hadoop_configuration(
    bucket: str, binding: TokenBinding, connection: Mapping[str, str]
) -> dict[str, str]:
    """Return Hadoop properties for one bucket, which don't affect other buckets."""
    properties = {
        "delegation.token.binding": binding.hadoop_class,
        "aws.credentials.provider": _PINNED_PROVIDER,
    }
    endpoint = connection.get("endpoint")
    if endpoint is not None:
        properties["endpoint"] = endpoint
        properties["connection.ssl.enabled"] = "false" if endpoint.startswith("http://") else "true"
    if "region" in connection:
        properties["endpoint.region"] = connection["region"]
    if "path_style" in connection:
        properties["path.style.access"] = connection["path_style"]
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in properties.items()}


@dataclass(frozen=True, slots=True)
class HadoopTokenRequest:
    """A recipient's request for a token.

    Attributes:
        origin: The origin in the token; `None` generates a description.
    """

    binding: TokenBinding
    layout: Layout
    renewer: str = ""
    origin: str | None = None
    shown: tuple[HadoopToken, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token for one bucket."""

    scope: BucketScope
    token: HadoopToken
    identifier: S3ATokenIdentifier
    bonded: bool
    configuration: dict[str, str]


class TokenIssuer:
    """Issues tokens."""

    def __init__(self, vending: Vending, keys: KeyRing, now: Callable[[], int] = epoch_ms) -> None:
        self._vending = vending
        self._keys = keys
        self._now = now

    async def issue(
        self, principal: Principal, scope: BucketScope, request: HadoopTokenRequest
    ) -> IssuedToken:
        """Return the token for one bucket. The caller has checked that the shares allow this access."""
        policy = request.binding.issuing_policy
        if policy is not TokenIssuingPolicy.NO_TOKENS_AVAILABLE:
            bonded = await self._bonded(principal, scope, request)
            if bonded is not None:
                return bonded
        if policy is not TokenIssuingPolicy.REQUEST_NEW_TOKEN:
            raise UnsupportedOperation(
                f"the binding {request.binding.name} issues {policy.value}: request another one"
            )
        return await self._unbonded(principal, scope, request)

    async def _bonded(
        self, principal: Principal, scope: BucketScope, request: HadoopTokenRequest
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

    def _is_own(self, token: HadoopToken, principal: Principal, scope: BucketScope) -> bool:
        """Whether the gateway issued the token to this recipient, for the same scope."""
        return self._keys.accepts(token.password, lambda key: _proof(key, token, principal, scope))

    async def _unbonded(
        self, principal: Principal, scope: BucketScope, request: HadoopTokenRequest
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
        unproved = HadoopToken(encoded, request.binding.kind, scope.service)
        proof = _proof(self._keys.signing, unproved, principal, scope)
        settings = hadoop_configuration(scope.bucket, request.binding, credentials.connection)
        token = HadoopToken(encoded, request.binding.kind, scope.service, proof)
        return IssuedToken(scope, token, identifier, False, settings)

    async def _credentials(
        self, principal: Principal, scope: BucketScope, binding: TokenBinding, uuid: str
    ) -> TemporaryCredentials:
        """Issue credentials for all directories, and record them for each table.

        The ledger entry of the first table has the token's UUID, which appears in the store's logs.
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
                "one for a bucket: request them separately, into different files"
            )


def _check_kind(token: HadoopToken, binding: TokenBinding) -> None:
    if token.kind != binding.kind:
        raise InvalidRequest(
            f"token mismatch: expected a token for {token.service} of kind {binding.kind}, but the one "
            f"in the request is of kind {token.kind[:80]}"
        )


def _proof(key: bytes, token: HadoopToken, principal: Principal, scope: BucketScope) -> bytes:
    """Return a MAC of a token's recipient and scope, which only this gateway can compute."""
    bound = orjson.dumps([principal.id, token.kind, token.service, scope.locations])
    return hmac.digest(key, len(bound).to_bytes(4) + bound + token.identifier, "sha256")
