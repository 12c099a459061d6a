"""One bucket, or a directory of it: signs URLs, opens tables, and vends narrowed tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    Fresh,
    ObjectDirectory,
    ObjectKeys,
    PluginContext,
    Presigned,
    Principal,
    Scope,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
    batches,
    quote_keys,
    signed_lifetime,
)
from sluicegate_gcs.address import respelled
from sluicegate_gcs.boundary import boundary_of
from sluicegate_gcs.canonical import SignedUrls
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.google import GoogleClient, Identity
from sluicegate_gcs.signers import HmacSigner, IamSigner, KeySigner, Signer
from sluicegate_gcs.stores import Stores
from sluicegate_gcs.tokens import given_token
from sluicegate_gcs.vending import TokenNarrower


class GCSStorage(Storage, CredentialVendor):
    """Signs, opens and vends the locations below one prefix of one bucket."""

    def __init__(self, config: GCSConfig, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._keys = ObjectKeys(config.prefix, f"gs://{config.bucket}/", respelled)
        self._clock = clock
        self._client = GoogleClient()
        self._identity = Identity(
            self._client, config.service_account_key, config.service_account_email
        )
        self._tokens = Fresh(self._identity.token, "Google's token", clock=clock)
        self._narrower = TokenNarrower(
            self._client, self._identity, self._tokens, config.sts_endpoint, config.iam_endpoint, clock
        )
        self._stores = Stores(config.bucket, config.endpoint, self._tokens.get)
        self._signer: Signer | None = None

    @classmethod
    def configured(cls, config: GCSConfig, context: PluginContext) -> GCSStorage:
        """The storage that a configuration describes; nothing is asked of Google yet."""
        return cls(config)

    @property
    def prefix(self) -> str:
        """The location prefix, with the scheme `gs` and a slash at its end."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Signed GET URLs, thousands at once; see `Storage.presign`.

        All are signed for one instant. They live `expires_in` seconds, but at most seven days, and
        twelve hours where the IAM credentials API signs.

        Raises:
            TableUnreadable: A location is no valid Unicode.
            UnsupportedOperation: `credentials` are given: an OAuth token cannot sign.
        """
        if credentials is not None:
            raise UnsupportedOperation(
                "URLs cannot be signed with the token that the table's catalog vended; "
                "read it by 'dir' access"
            )
        keys = self._keys.of(locations)
        signer = await self._signing()
        at = int(self._clock())
        lifetime = signed_lifetime(at, expires_in, signer.max_expires_in)
        signed = SignedUrls(
            origin=self._config.public_origin,
            bucket=self._config.bucket,
            algorithm=signer.algorithm,
            principal=signer.principal,
            at=at,
            expires_in=lifetime,
        )
        urls: list[str] = []
        async for some in batches(keys):
            quoted = quote_keys(some)
            signatures = await signer.sign(signed.strings_to_sign(quoted), signed.day)
            urls += signed.urls(quoted, signatures)
        return Presigned(urls, (at + lifetime) * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name
                (`//`, `.`, `..`, control characters).
        """
        key = self._keys.of_directory(location)
        if credentials is not None:
            return ObjectDirectory(self._stores.vended(given_token(credentials)), key)
        await self._tokens.get()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Whether vending is configured, and the location below the prefix."""
        return self._config.vending and self._keys.has_directory(location)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """An OAuth token that reads and lists the scope's directories; see `CredentialVendor.vend`.

        Raises:
            UnsupportedOperation: Vending is not configured, the scope names a binding, or it has more
                directories than a credential access boundary can hold.
        """
        if not self._config.vending:
            raise UnsupportedOperation(
                "no credentials are given for the table's storage; read it by URLs"
            )
        if scope.binding is not None:
            raise UnsupportedOperation(f"Google Cloud Storage knows no binding '{scope.binding}'")
        keys = self._keys.of([f"{location.rstrip('/')}/" for location in scope.locations])
        boundary = boundary_of(self._config.bucket, keys)
        token = await self._narrower.narrowed(boundary, scope.lifetime)
        secret, connection = {"oauth_token": token.value}, self._config.connection
        return TemporaryCredentials(scope.locations[0], "gcp", secret, token.expires_at, connection)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Says what an administrator can do: Google ends no single token."""
        return EndedSessions(
            applied=False,
            instructions="Google cannot revoke single tokens: those given out end by themselves within "
            f"the hour. To end them at once, disable the service account that reads {self.prefix} "
            "(gcloud iam service-accounts disable) for an hour; that stops all recipients. "
            "Signed URLs end when the key that signed them is deleted.",
        )

    async def aclose(self) -> None:
        """Release connections."""
        self._stores.clear()
        self._client.close()

    async def _signing(self) -> Signer:
        if self._signer is None:
            self._signer = await self._configured_signer()
        return self._signer

    async def _configured_signer(self) -> Signer:
        access_id, secret = self._config.hmac_access_id, self._config.hmac_secret
        if access_id is not None and secret is not None:
            return HmacSigner(access_id, secret)
        account = await self._identity.account()
        if account.signature is not None:
            return KeySigner(account.email, account.signature)
        return IamSigner(account.email, self._config.iam_endpoint, self._client, self._tokens)
