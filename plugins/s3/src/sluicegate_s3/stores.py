"""obstore stores of one bucket: the storage's own, and some for vended credentials."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from sluicegate.api import ObjectStores, RefreshingValue, client_options, retry_config
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import S3Credential, S3Store

    Provider: TypeAlias = Callable[[], Coroutine[None, None, S3Credential]]

_RELOAD_AFTER = timedelta(minutes=10)


class Stores(ObjectStores[Credentials, "S3Store"]):
    """Stores of one configuration."""

    def __init__(self, config: S3Config, credentials: RefreshingValue[Credentials]) -> None:
        super().__init__()
        self._config = config
        self._credentials = credentials

    def _make_own(self) -> S3Store:
        return self._store(self._fresh)

    def _make_vended(self, given: Credentials) -> S3Store:
        return self._store(_always(given))

    async def _fresh(self) -> S3Credential:
        return _for_obstore(await self._credentials.get())

    def _store(self, provider: Provider) -> S3Store:
        """Return a store with exactly this configuration.

        obstore falls back to environment variables for missing arguments. One of them even overrides
        its argument, so the endpoint is passed under both of its names.
        """
        from obstore.store import S3Store

        address = self._config.address
        return S3Store(
            self._config.bucket,
            endpoint=address.origin,
            aws_endpoint_url_s3=address.origin,
            region=self._config.signing_region,
            virtual_hosted_style_request=not self._config.uses_path_style,
            skip_signature=False,
            client_options=client_options(address.origin),
            retry_config=retry_config(),
            credential_provider=provider,
        )


def _always(credentials: Credentials) -> Provider:
    async def provide() -> S3Credential:
        return _for_obstore(credentials)

    return provide


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
