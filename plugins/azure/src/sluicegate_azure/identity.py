"""Access with an identity of Microsoft Entra: its tokens, and user delegation keys.

azure-identity and azure-storage-blob block, so they run in threads with a separate limiter. They are
imported when first needed.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import StorageError
from sluicegate_azure.access import Access, AccountKey
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import Delegation, SigningKey

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential
    from obstore.store import AzureCredential

_T = TypeVar("_T")

_THREADS = 4
_TIMEOUTS: Final[dict[str, Any]] = {"connection_timeout": 3, "read_timeout": 5, "retry_total": 1}
_AUDIENCE = "https://storage.azure.com/.default"
# Keys start slightly in the past, for accounts whose clocks are behind.
_CLOCK_SKEW_SECONDS = 300
_AUTHORITIES = {
    "core.chinacloudapi.cn": "https://login.chinacloudapi.cn",
    "core.usgovcloudapi.net": "https://login.microsoftonline.us",
}


class IdentityAccess(Access):
    """An identity that can read the account's blobs and get user delegation keys."""

    def __init__(
        self,
        credential: Callable[[], TokenCredential],
        endpoint: str,
        key_lifetime: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.make_credential = credential
        self._endpoint = endpoint
        self._key_lifetime = key_lifetime
        self._clock = clock
        self._made: TokenCredential | None = None
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def credential(self) -> AzureCredential:
        """Return a token for storage. azure-identity caches it until it is about to expire."""
        token = await self._run(lambda credential: credential.get_token(_AUDIENCE))
        return {"token": token.token, "expires_at": _moment(token.expires_on)}

    async def signing_key(self) -> SigningKey:
        """Return a new user delegation key."""
        start = int(self._clock()) - _CLOCK_SKEW_SECONDS
        return await self._run(lambda credential: self._delegated(credential, start))

    def preload(self) -> None:
        """Import Azure's libraries."""
        import azure.identity
        import azure.storage.blob  # noqa: F401

    async def _run(self, work: Callable[[TokenCredential], _T]) -> _T:
        """Run `work` in a thread, and translate errors of Azure's libraries."""

        def translated() -> _T:
            with _translated_errors():
                if self._made is None:
                    self._made = self.make_credential()
                return work(self._made)

        return await anyio.to_thread.run_sync(translated, limiter=self._limiter)

    def _delegated(self, credential: TokenCredential, start: int) -> SigningKey:
        from azure.storage.blob import BlobServiceClient, LinearRetry

        # The library's own retries start after 15 seconds.
        once_more = LinearRetry(backoff=1, random_jitter_range=0, **_TIMEOUTS)
        with BlobServiceClient(
            self._endpoint, credential, retry_policy=once_more, **_TIMEOUTS
        ) as client:
            key = client.get_user_delegation_key(_moment(start), _moment(start + self._key_lifetime))
        return signing_key(key)


def signing_key(key: Any) -> SigningKey:
    """Convert a `UserDelegationKey` of azure-storage-blob to the plugin's own type."""
    delegation = Delegation(
        oid=key.signed_oid,
        tid=key.signed_tid,
        start=key.signed_start,
        expiry=key.signed_expiry,
        service=key.signed_service,
        version=key.signed_version,
    )
    end = datetime.fromisoformat(key.signed_expiry)
    return SigningKey(base64.b64decode(key.value), delegation, int(end.timestamp() * 1000))


def configured_access(config: AzureConfig) -> Access:
    """Return access with the configured key or identity, without connecting to Azure."""
    if config.account_key is not None:
        return AccountKey(config.account_key)
    return IdentityAccess(
        partial(_credential, config), config.service_endpoint, config.delegation_key_lifetime
    )


def _credential(config: AzureConfig) -> TokenCredential:
    from azure import identity

    options = _options(config)
    if config.managed_identity:
        return identity.ManagedIdentityCredential(client_id=config.client_id, **_TIMEOUTS)
    if config.tenant_id is None or config.client_id is None:
        return identity.DefaultAzureCredential(managed_identity_client_id=config.client_id, **options)
    if config.client_secret is not None:
        return identity.ClientSecretCredential(
            config.tenant_id, config.client_id, config.client_secret.get_secret_value(), **options
        )
    return identity.WorkloadIdentityCredential(
        tenant_id=config.tenant_id,
        client_id=config.client_id,
        token_file_path=config.federated_token_file,
        **options,
    )


def _options(config: AzureConfig) -> dict[str, Any]:
    """Return options for the token authority. For a custom host, public Entra is not queried first."""
    if config.authority_host is not None:
        return {
            **_TIMEOUTS,
            "authority": config.authority_host,
            "disable_instance_discovery": True,
        }
    known = _AUTHORITIES.get(config.container.suffix)
    return {**_TIMEOUTS, "authority": known} if known else {**_TIMEOUTS}


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@contextmanager
def _translated_errors() -> Iterator[None]:
    from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

    try:
        yield
    except ClientAuthenticationError as error:
        raise StorageError(
            "the gateway has no valid Azure identity for this storage; ask the gateway's operator",
            detail=str(error),
        ) from error
    except HttpResponseError as error:
        raise StorageError(
            "Azure denies the gateway a signing key for this storage; ask the gateway's operator",
            detail=str(error),
        ) from error
    except AzureError as error:
        raise StorageError(
            "the service that issues credentials for this storage does not respond; try again later",
            detail=str(error),
        ) from error
    except (OSError, ValueError) as error:
        raise StorageError(
            "the gateway cannot authenticate to Azure for this storage; ask the gateway's operator",
            detail=f"{type(error).__name__}: {error}",
        ) from error
