"""A bucket, or a directory of it, in a store with the S3 API: presigns objects and opens tables."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from sluicegate.api import (
    ObjectKeys,
    ObjectRequest,
    ObjectStorage,
    PathSigner,
    RefreshingValue,
    SignedPaths,
    TemporaryCredentials,
    client_options,
    retry_config,
)
from sluicegate_s3.aws import import_botocore
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, vended_credentials
from sluicegate_s3.signer import Presigner

if TYPE_CHECKING:
    from obstore.store import S3Credential, S3Store


_RELOAD_AFTER = timedelta(minutes=10)


def make_store(config: S3Config, current: Callable[[], Awaitable[Credentials]]) -> S3Store:
    """Return a store with exactly this configuration, which reads with the current credentials.

    obstore falls back to environment variables for missing arguments. One of them even overrides
    its argument, so the endpoint is passed under both of its names.
    """
    from obstore.store import S3Store

    async def provide() -> S3Credential:
        return _for_obstore(await current())

    address = config.address
    return S3Store(
        config.bucket,
        endpoint=address.origin,
        aws_endpoint_url_s3=address.origin,
        region=config.signing_region,
        virtual_hosted_style_request=not config.uses_path_style,
        skip_signature=False,
        client_options=client_options(address.origin),
        retry_config=retry_config(),
        credential_provider=provide,
    )


def _for_obstore(credentials: Credentials) -> S3Credential:
    """Return credentials for obstore. Those without expiry are requested again after a while."""
    end = credentials.expires_at
    return {
        "access_key_id": credentials.access_key_id,
        "secret_access_key": credentials.secret_access_key,
        "token": credentials.session_token,
        "expires_at": datetime.now(UTC) + _RELOAD_AFTER if end is None else _moment(end),
    }


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


class S3Bucket(ObjectStorage[Credentials, Presigner], PathSigner):
    """Presigns and opens locations below one prefix of one bucket.

    The signature of a URL covers the headers of the request that start with `x-amz-`, and the label,
    which is left out unless `label_urls` is configured.
    """

    binds_method: ClassVar[bool] = True

    def __init__(
        self,
        keys: ObjectKeys,
        config: S3Config,
        credentials: RefreshingValue[Credentials],
        clock: Callable[[], float] = time.time,
        *,
        vending: bool = False,
    ) -> None:
        super().__init__(keys, vending=vending, clock=clock)
        self._config = config
        self._address = config.public_address
        self._credentials = credentials
        self._presigner: tuple[Credentials, Presigner] | None = None

    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """Return the URLs of `presign_request` in parts; see `PathSigner.sign_paths`."""
        (key,) = self._keys.of([directory])
        presigner, at, lifetime = await self._signing(expires_in, credentials)
        return presigner.sign_paths(key, paths, at, lifetime, request)

    def preload(self) -> None:
        """Create the store, which loads certificates, and import botocore if credentials need it."""
        super().preload()
        if self._config.access_key_id is None or self._config.role_arn is not None:
            import_botocore()

    async def _load(self) -> None:
        await self._credentials.get()

    async def _signer(self, given: Credentials | None) -> Presigner:
        signing = await self._credentials.get() if given is None else given
        if self._presigner is None or self._presigner[0] != signing:
            region, labels = self._config.signing_region, self._config.label_urls
            self._presigner = signing, Presigner(self._address, region, signing, labels=labels)
        return self._presigner[1]

    def _parse(self, credentials: TemporaryCredentials) -> Credentials | None:
        return vended_credentials(credentials)

    def _make_store(self, given: Credentials | None) -> S3Store:
        async def always() -> Credentials:
            return given or await self._credentials.get()

        return make_store(self._config, always)
