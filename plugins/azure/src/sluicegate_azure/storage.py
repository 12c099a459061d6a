"""A container, or a directory of it: presigns blobs, opens tables, vends signatures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from urllib.parse import quote

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    ObjectDirectory,
    ObjectKeys,
    PermissionDenied,
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
from sluicegate_azure.access import Access
from sluicegate_azure.address import canonical_location
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.identity import configured_access
from sluicegate_azure.sas import SasSigner
from sluicegate_azure.signing_key import SigningKey
from sluicegate_azure.stores import Stores
from sluicegate_azure.vended_sas import parse_vended_sas
from sluicegate_azure.vending import how_to_end, sas_token

MAX_EXPIRES_IN = 604_800
"""Maximum lifetime of issued signatures, in seconds: that of a user delegation key."""


class AzureStorage(Storage, CredentialVendor):
    """Presigns, opens and vends locations below one prefix of one container.

    Args:
        config: The container's configuration.
        access: Provides credentials and signing keys.
        clock: Returns epoch seconds.
    """

    def __init__(
        self,
        config: AzureConfig,
        access: Access,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._access = access
        self._clock = clock
        self._names = ObjectKeys(config.prefix, config.container.prefix, canonical_location)
        self._base = f"{config.public_service_endpoint}/{quote(config.container.name)}/"
        self._key = RefreshingValue(access.signing_key, "Azure's delegation key", clock=clock)
        self._stores = Stores(config, access)

    @classmethod
    def configured(cls, config: AzureConfig, context: PluginContext) -> AzureStorage:
        """Return the configured storage, without connecting to it."""
        return cls(config, configured_access(config))

    @property
    def prefix(self) -> str:
        """Return the location prefix, with the scheme `abfss` and a trailing slash."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return presigned GET URLs, thousands at a time; see `Storage.presign`.

        They are valid for `expires_in` seconds, but at most for seven days and not longer than their
        signing key. Vended credentials are already a signature: they are appended to each URL, which
        then grants the same access as they do.

        Raises:
            StorageError: There is no key, or vended credentials permit more than reading.
            TableUnreadable: A location is not valid Unicode.
        """
        names = self._names.of(locations)
        if credentials is not None:
            return self._with_vended(names, expires_in, credentials)
        key = await self._key.get()
        end = self._end(expires_in, key.expires_at)
        signer = self._signer(key)
        urls: list[str] = []
        async for some in batches(names):
            urls += signer.sign_blobs(self._base, some, end)
        return Presigned(urls, end * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name
                (`//`, `.`, `..`, control characters).
        """
        name = self._names.of_directory(location)
        if credentials is not None:
            return ObjectDirectory(self._stores.vended(parse_vended_sas(credentials)), name)
        await self._access.credential()
        return ObjectDirectory(self._stores.own(), name)

    def vends(self, location: str) -> bool:
        """Return whether `vending` (or a hierarchical namespace) is configured."""
        return self._config.vends is not None

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return a SAS that reads and lists the scope's directory; see `CredentialVendor.vend`.

        Its kind is `azureUserDelegationSas` of the Delta Sharing protocol, "Generate Temporary Table
        Credential". With an account key it is a service SAS, which clients use in the same way.
        """
        if scope.binding is not None:
            raise UnsupportedOperation(
                "Azure storage has no credential bindings; request credentials without a binding"
            )
        directories = [self._names.of_directory(location) for location in scope.locations]
        key = await self._key.get()
        end = self._end(scope.lifetime, key.expires_at)
        return TemporaryCredentials(
            location=canonical_location(scope.locations[0]).rstrip("/"),
            kind="azure",
            secret={"sas_token": sas_token(self._config, self._signer(key), directories, end)},
            expires_at=end * 1000,
            connection={
                "account": self._config.container.account,
                "endpoint": self._config.public_service_endpoint,
            },
        )

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Explain how to end sessions: Azure supports this only for an entire account."""
        return how_to_end(self._config)

    def preload(self) -> None:
        """Create the store, which loads certificates, and import the libraries of the identity."""
        self._stores.own()
        self._access.preload()

    async def aclose(self) -> None:
        """Release connections."""
        self._stores.clear()

    def _signer(self, key: SigningKey) -> SasSigner:
        container = self._config.container
        https_only = self._config.public_service_endpoint.startswith("https://")
        return SasSigner(container.account, container.name, key, https_only=https_only)

    def _end(self, lifetime: int, limit: int | None) -> int:
        """Return a signature's expiry in epoch seconds, limited by its key's (epoch milliseconds)."""
        at = int(self._clock())
        return at + signed_lifetime(at, lifetime, MAX_EXPIRES_IN, limit)

    def _with_vended(
        self, names: Sequence[str], expires_in: int, credentials: TemporaryCredentials
    ) -> Presigned:
        given = parse_vended_sas(credentials)
        if given.grants_more:
            raise PermissionDenied(
                "the credentials vended for this table permit more than reading, so the gateway "
                "does not put them into URLs; ask the gateway's operator",
                detail=f"the SAS for {credentials.location} has permissions other than r, l and e",
            )
        end = self._end(expires_in, given.expires_at)
        urls = [f"{self._base}{name}?{given.token}" for name in quote_keys(names)]
        return Presigned(urls, end * 1000)
