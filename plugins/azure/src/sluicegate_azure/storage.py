"""One container, or a directory of it: presigns its blobs, opens its tables, vends signatures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from urllib.parse import quote

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    Fresh,
    ObjectDirectory,
    ObjectKeys,
    PermissionDenied,
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
from sluicegate_azure.access import Access
from sluicegate_azure.address import canonical_spelling
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.given import given_sas
from sluicegate_azure.identity import configured_access
from sluicegate_azure.sas import SasSigner
from sluicegate_azure.signing_key import SigningKey
from sluicegate_azure.stores import Stores
from sluicegate_azure.vending import how_to_end, sas_token

MAX_EXPIRES_IN = 604_800
"""Longest life of a signature that we give, in seconds: what a user delegation key allows."""


class AzureStorage(Storage, CredentialVendor):
    """Presigns, opens and vends the locations below one prefix of one container.

    Args:
        config: The container.
        access: What reads and signs.
        clock: Epoch seconds.
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
        self._names = ObjectKeys(config.prefix, config.container.prefix, canonical_spelling)
        self._base = f"{config.public_service_endpoint}/{quote(config.container.name)}/"
        self._key = Fresh(access.signing_key, "Azure's delegation key", clock=clock)
        self._stores = Stores(config, access)

    @classmethod
    def configured(cls, config: AzureConfig, context: PluginContext) -> AzureStorage:
        """The storage that a configuration describes; nothing is asked of the store yet."""
        return cls(config, configured_access(config))

    @property
    def prefix(self) -> str:
        """The location prefix, with the scheme `abfss` and a slash at its end."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs, thousands at once; see `Storage.presign`.

        They live `expires_in` seconds, but at most seven days and no longer than the key that signs
        them. Given credentials are a signature already: they are put behind each URL, which so opens
        what they open.

        Raises:
            StorageError: There is no key, or given credentials may do more than read.
            TableUnreadable: A location is no valid Unicode.
        """
        names = self._names.of(locations)
        if credentials is not None:
            return self._with_given(names, expires_in, credentials)
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
            return ObjectDirectory(self._stores.vended(given_sas(credentials)), name)
        await self._access.credential()
        return ObjectDirectory(self._stores.own(), name)

    def vends(self, location: str) -> bool:
        """Whether `vending` (or a hierarchical namespace) is configured."""
        return self._config.vends is not None

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """A SAS that reads and lists the scope's directory; see `CredentialVendor.vend`.

        Its kind is `azureUserDelegationSas` of delta-sharing-protocol.md, "Generate Temporary Table
        Credential"; with an account key it is a service SAS, which clients use alike.
        """
        if scope.binding is not None:
            raise UnsupportedOperation("credentials of Azure storage are made in one way only")
        directories = [self._names.of_directory(location) for location in scope.locations]
        key = await self._key.get()
        end = self._end(scope.lifetime, key.expires_at)
        return TemporaryCredentials(
            location=canonical_spelling(scope.locations[0]).rstrip("/"),
            kind="azure",
            secret={"sas_token": sas_token(self._config, self._signer(key), directories, end)},
            expires_at=end * 1000,
            connection={
                "account": self._config.container.account,
                "endpoint": self._config.public_service_endpoint,
            },
        )

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """How an administrator ends them: Azure does so for the whole account only."""
        return how_to_end(self._config)

    async def aclose(self) -> None:
        """Release connections."""
        self._stores.clear()

    def _signer(self, key: SigningKey) -> SasSigner:
        container = self._config.container
        https_only = self._config.public_service_endpoint.startswith("https://")
        return SasSigner(container.account, container.name, key, https_only=https_only)

    def _end(self, lifetime: int, limit: int | None) -> int:
        """When a signature expires, epoch seconds, given what signs it (epoch milliseconds)."""
        at = int(self._clock())
        return at + signed_lifetime(at, lifetime, MAX_EXPIRES_IN, limit)

    def _with_given(
        self, names: Sequence[str], expires_in: int, credentials: TemporaryCredentials
    ) -> Presigned:
        given = given_sas(credentials)
        if given.grants_more:
            raise PermissionDenied(
                "the credentials given for this table may do more than read, so no recipient gets URLs "
                "with them; ask the gateway's operator",
                detail=f"the SAS for {credentials.location} has other permissions than r, l and e",
            )
        end = self._end(expires_in, given.expires_at)
        urls = [f"{self._base}{name}?{given.token}" for name in quote_keys(names)]
        return Presigned(urls, end * 1000)
