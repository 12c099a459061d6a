"""A bucket, or a directory of it, in a store with the S3 API: presigns objects and opens tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from sluicegate.api import (
    ObjectKeys,
    ObjectRequest,
    ObjectStorage,
    PathSigner,
    RefreshingValue,
    SignedPaths,
    TemporaryCredentials,
)
from sluicegate_s3.aws import import_botocore
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, vended_credentials
from sluicegate_s3.signer import Presigner
from sluicegate_s3.store import make_store

if TYPE_CHECKING:
    from obstore.store import S3Store


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
