"""A bucket, or a directory of it: signs URLs, opens tables, and vends downscoped tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    ObjectDirectory,
    ObjectKeys,
    ObjectRequest,
    PluginContext,
    Presigned,
    Principal,
    RefreshingValue,
    Scope,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
    batches,
    quote_keys,
    signed_lifetime,
)
from sluicegate_gcs.address import with_canonical_scheme
from sluicegate_gcs.boundary import boundary_of
from sluicegate_gcs.canonical import SignedUrls
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.google import GoogleClient, Identity, import_google_auth
from sluicegate_gcs.signers import HmacSigner, IamSigner, KeySigner, Signer
from sluicegate_gcs.stores import Stores
from sluicegate_gcs.tokens import parse_vended_token
from sluicegate_gcs.vending import TokenNarrower


class GCSStorage(Storage, CredentialVendor):
    """Signs, opens and vends locations below one prefix of one bucket."""

    binds_method: ClassVar[bool] = True

    def __init__(self, config: GCSConfig, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._keys = ObjectKeys(config.prefix, f"gs://{config.bucket}/", with_canonical_scheme)
        self._clock = clock
        self._client = GoogleClient()
        self._identity = Identity(
            self._client, config.service_account_key, config.service_account_email
        )
        self._tokens = RefreshingValue(self._identity.token, "Google's token", clock=clock)
        self._narrower = TokenNarrower(
            self._client, self._identity, self._tokens, config.sts_endpoint, config.iam_endpoint, clock
        )
        self._stores = Stores(config.bucket, config.endpoint, self._tokens.get)
        self._signer: Signer | None = None

    @classmethod
    def configured(cls, config: GCSConfig, context: PluginContext) -> GCSStorage:
        """Return the configured storage, without connecting to Google."""
        return cls(config)

    @property
    def prefix(self) -> str:
        """Return the location prefix, with the scheme `gs` and a trailing slash."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return signed GET URLs, thousands at a time; see `Storage.presign`.

        All have the same signing time. They are valid for `expires_in` seconds, but at most for seven
        days, or twelve hours if the IAM credentials API signs.

        Raises:
            TableUnreadable: A location is not valid Unicode.
            UnsupportedOperation: `credentials` are set: an OAuth token can't sign.
        """
        return await self.presign_request(ObjectRequest(), locations, expires_in, credentials)

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return signed URLs for one method; see `presign`. Clients can add any other headers."""
        if credentials is not None:
            raise UnsupportedOperation(
                "the token that the table's catalog vends cannot sign URLs; read the table with "
                "'dir' access"
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
            method=request.method,
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
            return ObjectDirectory(self._stores.vended(parse_vended_token(credentials)), key)
        await self._tokens.get()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Return whether vending is configured, and the location is below the prefix."""
        return self._config.vending and self._keys.has_directory(location)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return an OAuth token that reads and lists the scope's directories.

        See `CredentialVendor.vend`.

        Raises:
            UnsupportedOperation: Vending is not configured, the scope names a binding, or it has more
                directories than a credential access boundary can contain.
        """
        if not self._config.vending:
            raise UnsupportedOperation(
                "the table's storage issues no temporary credentials; read the table with 'url' access"
            )
        if scope.binding is not None:
            raise UnsupportedOperation(
                f"Google Cloud Storage has no credential binding '{scope.binding}'; request "
                "credentials without a binding"
            )
        keys = self._keys.of([f"{location.rstrip('/')}/" for location in scope.locations])
        boundary = boundary_of(self._config.bucket, keys)
        token = await self._narrower.narrowed(boundary, scope.lifetime)
        secret, connection = {"oauth_token": token.value}, self._config.connection
        return TemporaryCredentials(scope.locations[0], "gcp", secret, token.expires_at, connection)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Explain what an administrator can do: Google can't revoke single tokens."""
        return EndedSessions(
            applied=False,
            instructions="Google cannot revoke single tokens. Issued tokens expire within an hour. "
            "To revoke all of them immediately, disable the service account that reads "
            f"{self.prefix} (gcloud iam service-accounts disable) for an hour. This interrupts the "
            "access of all recipients. To revoke signed URLs, delete the key that signed them.",
        )

    def preload(self) -> None:
        """Create the store, which loads certificates, and import google-auth."""
        self._stores.own()
        import_google_auth()

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
