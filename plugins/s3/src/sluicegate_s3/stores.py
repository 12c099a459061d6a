"""The obstore stores of one bucket: its own, and some for credentials that others vended."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from sluicegate.api import Fresh, TemporaryCredentials
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, given_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import ClientConfig, RetryConfig, S3Credential, S3Store

    Provider: TypeAlias = Callable[[], Coroutine[None, None, S3Credential]]

_MOST_VENDED = 64
_ASK_AGAIN = timedelta(minutes=10)


class Stores:
    """Makes stores when first needed and keeps them: each has a connection pool."""

    def __init__(self, config: S3Config, credentials: Fresh[Credentials]) -> None:
        self._config = config
        self._credentials = credentials
        self._own: S3Store | None = None
        self._vended: OrderedDict[Credentials, S3Store] = OrderedDict()

    def own(self) -> S3Store:
        """The store that reads with the instance's credentials, always fresh ones."""
        if self._own is None:
            self._own = self._store(self._fresh)
        return self._own

    def vended(self, given: TemporaryCredentials) -> S3Store:
        """A store that reads with given credentials; the least recently used one makes room.

        Raises:
            StorageError: The credentials are another cloud's, or incomplete.
        """
        credentials = given_credentials(given)
        store = self._vended.pop(credentials, None) or self._store(_always(credentials))
        self._vended[credentials] = store
        if len(self._vended) > _MOST_VENDED:
            self._vended.popitem(last=False)
        return store

    def clear(self) -> None:
        """Forget all stores, and with them their connections."""
        self._own = None
        self._vended.clear()

    async def _fresh(self) -> S3Credential:
        return _for_obstore(await self._credentials.get())

    def _store(self, provider: Provider) -> S3Store:
        """A store of exactly this configuration.

        obstore lets environment variables speak where an argument is missing, and one of them
        overrules the argument: so the endpoint is given by both of its names.
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
            client_options=_client_options(address.origin),
            retry_config=_retries(),
            credential_provider=provider,
        )


def _always(credentials: Credentials) -> Provider:
    async def provide() -> S3Credential:
        return _for_obstore(credentials)

    return provide


def _for_obstore(credentials: Credentials) -> S3Credential:
    """Credentials as obstore takes them; those without an end are asked for again after a while."""
    end = credentials.expires_at
    return {
        "access_key_id": credentials.access_key_id,
        "secret_access_key": credentials.secret_access_key,
        "token": credentials.session_token,
        "expires_at": datetime.now(UTC) + _ASK_AGAIN if end is None else _moment(end),
    }


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _client_options(origin: str) -> ClientConfig:
    """Give up on silence quickly, not on size: a whole answer may take long as long as bytes flow."""
    return {
        "allow_http": origin.startswith("http://"),
        "connect_timeout": timedelta(seconds=2),
        "read_timeout": timedelta(seconds=5),
        "timeout": timedelta(minutes=5),
    }


def _retries() -> RetryConfig:
    """No attempt starts after four seconds, so a dead store is an error within ten."""
    return {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=4),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
