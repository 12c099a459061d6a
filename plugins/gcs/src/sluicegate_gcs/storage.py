"""A bucket, or a directory of it: signs URLs, opens tables, and vends downscoped tokens."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from sluicegate.api import (
    EndedSessions,
    ObjectKeys,
    ObjectRequest,
    ObjectStorage,
    PluginContext,
    Principal,
    RefreshingValue,
    Scope,
    TemporaryCredentials,
    UnsupportedOperation,
    UrlSigner,
    client_options,
    quote_keys,
    retry_config,
)
from sluicegate_gcs.address import with_canonical_scheme
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.google import GoogleClient, Identity, import_google_auth
from sluicegate_gcs.signers import HmacSigner, IamSigner, KeySigner, SignedUrls, Signer
from sluicegate_gcs.tokens import AccessToken
from sluicegate_gcs.vending import TokenNarrower, boundary_of

if TYPE_CHECKING:
    from obstore.store import GCSCredential, GCSStore


def make_store(bucket: str, endpoint: str, token: Callable[[], Awaitable[AccessToken]]) -> GCSStore:
    """Return a store of the bucket, which reads with the current token."""
    from obstore.store import GCSStore

    async def provide() -> GCSCredential:
        current = await token()
        end = datetime.fromtimestamp(current.expires_at / 1000, UTC)
        return {"token": current.value, "expires_at": end}

    return GCSStore(
        bucket,
        base_url=endpoint,
        skip_signature=False,  # otherwise, an environment variable decides
        client_options=client_options(endpoint),
        retry_config=retry_config(),
        credential_provider=provide,
    )


class BucketSigner(UrlSigner):
    """Signs URLs of one bucket, for one method. Clients can add any headers."""

    def __init__(self, origin: str, bucket: str, signer: Signer) -> None:
        self._origin = origin
        self._bucket = bucket
        self._signer = signer
        self.max_lifetime = signer.max_expires_in

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """See `UrlSigner.sign`."""
        signed = SignedUrls(
            origin=self._origin,
            bucket=self._bucket,
            algorithm=self._signer.algorithm,
            principal=self._signer.principal,
            at=at,
            expires_in=lifetime,
            method=request.method,
        )
        quoted = quote_keys(keys)
        signatures = await self._signer.sign(signed.strings_to_sign(quoted), signed.day)
        return signed.urls(quoted, signatures)


class GCSStorage(ObjectStorage[AccessToken, BucketSigner]):
    """Signs, opens and vends locations below one prefix of one bucket.

    URLs are valid for at most seven days, or twelve hours if the IAM credentials API signs.
    """

    kind = "gcp"
    service = "Google Cloud Storage"
    binds_method: ClassVar[bool] = True

    def __init__(self, config: GCSConfig, clock: Callable[[], float] = time.time) -> None:
        keys = ObjectKeys(config.prefix, f"gs://{config.bucket}/", with_canonical_scheme)
        super().__init__(keys, vending=config.vending, clock=clock)
        self._config = config
        self._client = GoogleClient()
        self._identity = Identity(
            self._client, config.service_account_key, config.service_account_email
        )
        self._tokens = RefreshingValue(self._identity.token, "Google's token", clock=clock)
        self._narrower = TokenNarrower(
            self._client, self._identity, self._tokens, config.sts_endpoint, config.iam_endpoint, clock
        )
        self._bucket_signer: BucketSigner | None = None

    @classmethod
    def configured(cls, config: GCSConfig, context: PluginContext) -> GCSStorage:
        """Return the configured storage, without connecting to Google."""
        return cls(config)

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
        super().preload()
        import_google_auth()

    async def aclose(self) -> None:
        """Release connections."""
        await super().aclose()
        self._client.close()

    async def _load(self) -> None:
        await self._tokens.get()

    async def _signer(self, given: AccessToken | None) -> BucketSigner:
        if given is not None:
            raise UnsupportedOperation(
                "the token that the table's catalog vends cannot sign URLs; read the table with "
                "'dir' access"
            )
        if self._bucket_signer is None:
            config, signer = self._config, await self._configured_signer()
            self._bucket_signer = BucketSigner(config.public_origin, config.bucket, signer)
        return self._bucket_signer

    def _parse(self, credentials: TemporaryCredentials) -> AccessToken | None:
        token, end = credentials.secret.get("oauth_token"), credentials.expires_at
        return None if token is None or end is None else AccessToken(token, end)

    def _make_store(self, given: AccessToken | None) -> GCSStore:
        async def always() -> AccessToken:
            return given or await self._tokens.get()

        return make_store(self._config.bucket, self._config.endpoint, always)

    async def _vend(self, scope: Scope, directories: Sequence[str]) -> TemporaryCredentials:
        """Return an OAuth token that reads and lists the directories."""
        prefixes = [f"{directory}/" if directory else "" for directory in directories]
        boundary = boundary_of(self._config.bucket, prefixes)
        token = await self._narrower.narrowed(boundary, scope.lifetime)
        secret, connection = {"oauth_token": token.value}, self._config.connection
        return TemporaryCredentials(scope.locations[0], "gcp", secret, token.expires_at, connection)

    async def _configured_signer(self) -> Signer:
        access_id, secret = self._config.hmac_access_id, self._config.hmac_secret
        if access_id is not None and secret is not None:
            return HmacSigner(access_id, secret)
        account = await self._identity.account()
        if account.signature is not None:
            return KeySigner(account.email, account.signature)
        return IamSigner(account.email, self._config.iam_endpoint, self._client, self._tokens)
