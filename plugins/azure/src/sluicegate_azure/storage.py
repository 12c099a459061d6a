"""A container, or a directory of it: presigns blobs, opens tables, vends signatures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from sluicegate.api import (
    EndedSessions,
    ObjectKeys,
    ObjectRequest,
    ObjectStorage,
    PermissionDenied,
    PluginContext,
    Principal,
    RefreshingValue,
    Scope,
    TemporaryCredentials,
    UrlSigner,
    client_options,
    quote_keys,
    retry_config,
    signed_lifetime,
)
from sluicegate_azure.access import Access
from sluicegate_azure.address import canonical_location
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.identity import configured_access
from sluicegate_azure.sas import SasSigner, SigningKey, VendedSas, parse_vended_sas
from sluicegate_azure.vending import how_to_end, sas_token

if TYPE_CHECKING:
    from obstore.store import AzureStore


if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import AzureCredential, AzureStore

    Provider: TypeAlias = Callable[[], Coroutine[None, None, AzureCredential]]


def make_store(config: AzureConfig, provider: Provider) -> AzureStore:
    """Return a store with exactly this configuration.

    obstore falls back to environment variables for missing arguments.
    """
    from obstore.store import AzureStore

    endpoint = config.service_endpoint
    return AzureStore(
        config.container.name,
        account_name=config.container.account,
        endpoint=endpoint,
        use_emulator=False,
        use_fabric_endpoint=False,
        skip_signature=False,
        client_options=client_options(endpoint),
        retry_config=retry_config(),
        credential_provider=provider,
    )


def always(given: VendedSas) -> Provider:
    """Return a provider of vended credentials."""

    async def provide() -> AzureCredential:
        end = datetime.fromtimestamp(given.expires_at / 1000, UTC)
        return {"sas_token": given.token, "expires_at": end}

    return provide


class BlobSigner(UrlSigner):
    """Signs URLs of one container for reading single blobs."""

    def __init__(self, config: AzureConfig, key: SigningKey) -> None:
        self._base = _base(config)
        container, https_only = config.container, config.public_service_endpoint.startswith("https://")
        self.sas = SasSigner(container.account, container.name, key, https_only=https_only)
        self.expires_at = key.expires_at

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """See `UrlSigner.sign`. A signature for reading accepts `GET` and `HEAD`."""
        return self.sas.sign_blobs(self._base, keys, at + lifetime)


class VendedSigner(UrlSigner):
    """Appends a vended signature to each URL, which then grants the same access."""

    def __init__(self, config: AzureConfig, given: VendedSas) -> None:
        if given.grants_more:
            raise PermissionDenied(
                "the credentials vended for this table permit more than reading, so the gateway "
                "does not put them into URLs; ask the gateway's operator",
                detail=f"the SAS for {config.prefix} has permissions other than r, l and e",
            )
        self._base = _base(config)
        self._token = given.token
        self.expires_at = given.expires_at

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """See `UrlSigner.sign`."""
        return [f"{self._base}{name}?{self._token}" for name in quote_keys(keys)]


def _base(config: AzureConfig) -> str:
    return f"{config.public_service_endpoint}/{quote(config.container.name)}/"


class AzureStorage(ObjectStorage[VendedSas, UrlSigner]):
    """Presigns, opens and vends locations below one prefix of one container.

    Vended credentials are already a signature: they are appended to each URL, which then grants the
    same access as they do.
    """

    kind = "azure"
    service = "Azure storage"
    no_vending = (
        "this storage issues no temporary credentials, because Azure cannot limit them to a "
        "table without a hierarchical namespace; read the table with 'url' access"
    )

    def __init__(
        self,
        config: AzureConfig,
        access: Access,
        clock: Callable[[], float] = time.time,
    ) -> None:
        keys = ObjectKeys(config.prefix, config.container.prefix, canonical_location)
        super().__init__(keys, vending=config.vends is not None, clock=clock)
        self._config = config
        self._access = access
        self._key = RefreshingValue(access.signing_key, "Azure's delegation key", clock=clock)

    @classmethod
    def configured(cls, config: AzureConfig, context: PluginContext) -> AzureStorage:
        """Return the configured storage, without connecting to it."""
        return cls(config, configured_access(config))

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Explain how to end sessions: Azure supports this only for an entire account."""
        return how_to_end(self._config)

    def preload(self) -> None:
        """Create the store, which loads certificates, and import the libraries of the identity."""
        super().preload()
        self._access.preload()

    async def _load(self) -> None:
        await self._access.credential()

    async def _signer(self, given: VendedSas | None) -> UrlSigner:
        if given is not None:
            return VendedSigner(self._config, given)
        return BlobSigner(self._config, await self._key.get())

    def _parse(self, credentials: TemporaryCredentials) -> VendedSas | None:
        return parse_vended_sas(credentials)

    def _make_store(self, given: VendedSas | None) -> AzureStore:
        provider = self._access.credential if given is None else always(given)
        return make_store(self._config, provider)

    async def _vend(self, scope: Scope, directories: Sequence[str]) -> TemporaryCredentials:
        """Return a SAS that reads and lists the scope's directory.

        Its kind is `azureUserDelegationSas` of the Delta Sharing protocol, "Generate Temporary Table
        Credential". With an account key it is a service SAS, which clients use in the same way.
        """
        signer = BlobSigner(self._config, await self._key.get())
        at = int(self._clock())
        end = at + signed_lifetime(at, scope.lifetime, signer.max_lifetime, signer.expires_at)
        return TemporaryCredentials(
            location=canonical_location(scope.locations[0]).rstrip("/"),
            kind="azure",
            secret={"sas_token": sas_token(self._config, signer.sas, directories, end)},
            expires_at=end * 1000,
            connection={
                "account": self._config.container.account,
                "endpoint": self._config.public_service_endpoint,
            },
        )
