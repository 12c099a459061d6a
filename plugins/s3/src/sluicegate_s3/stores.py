"""The obstore stores of one bucket: its own, and some for credentials that others vended."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sluicegate.api import StorageError, TemporaryCredentials
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import FreshCredentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from obstore.store import ClientConfig, RetryConfig, S3Credential, S3Store

_MOST_VENDED = 64
_ASK_AGAIN = timedelta(minutes=10)


class Stores:
    """Makes stores when first needed and keeps them: each has a connection pool."""

    def __init__(self, config: S3Config, credentials: FreshCredentials) -> None:
        self._config = config
        self._credentials = credentials
        self._own: S3Store | None = None
        self._vended: OrderedDict[tuple[str, str, str | None], S3Store] = OrderedDict()

    def own(self) -> S3Store:
        """The store that reads with the instance's credentials, always fresh ones."""
        if self._own is None:
            self._own = self._store(credential_provider=self._provide)
        return self._own

    def vended(self, credentials: TemporaryCredentials) -> S3Store:
        """A store that reads with given credentials; the least recently used one makes room.

        Raises:
            StorageError: The credentials are another cloud's, or incomplete.
        """
        key = _key_pair(credentials)
        store = self._vended.pop(key, None)
        if store is None:
            access_key_id, secret_access_key, session_token = key
            token = {} if session_token is None else {"session_token": session_token}
            store = self._store(
                access_key_id=access_key_id, secret_access_key=secret_access_key, **token
            )
        self._vended[key] = store
        if len(self._vended) > _MOST_VENDED:
            self._vended.popitem(last=False)
        return store

    def clear(self) -> None:
        """Forget all stores, and with them their connections."""
        self._own = None
        self._vended.clear()

    async def _provide(self) -> S3Credential:
        credentials = await self._credentials.get()
        end = credentials.expires_at
        return {
            "access_key_id": credentials.access_key_id,
            "secret_access_key": credentials.secret_access_key,
            "token": credentials.session_token,
            "expires_at": datetime.fromtimestamp(end / 1000, UTC)
            if end is not None
            else datetime.now(UTC) + _ASK_AGAIN,
        }

    def _store(self, **access: Any) -> S3Store:
        from obstore.store import S3Store

        address = self._config.address
        return S3Store(
            self._config.bucket,
            endpoint=address.origin,
            region=self._config.signing_region,
            virtual_hosted_style_request=not self._config.uses_path_style,
            client_options=_client_options(address.origin),
            retry_config=_retries(),
            **access,
        )


def _key_pair(credentials: TemporaryCredentials) -> tuple[str, str, str | None]:
    secret: Mapping[str, str] = credentials.secret
    if credentials.kind != "aws" or not {"access_key_id", "secret_access_key"} <= secret.keys():
        raise StorageError(
            "The credentials given for this table do not open its storage; ask the gateway's operator.",
            detail=f"{credentials.kind} credentials ({sorted(secret)}) for {credentials.location}",
        )
    return secret["access_key_id"], secret["secret_access_key"], secret.get("session_token")


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
