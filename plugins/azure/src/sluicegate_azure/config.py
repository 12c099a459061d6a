"""Configuration of an Azure storage."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import SecretStr, StorageConfig
from sluicegate_azure.address import Container, canonical_endpoint, canonical_prefix

Endpoint = Annotated[str, AfterValidator(canonical_endpoint)]
Vending = Literal["directory", "container"]

_IDENTITY = (
    "tenant_id",
    "client_id",
    "client_secret",
    "federated_token_file",
    "managed_identity",
    "authority_host",
    "delegation_key_lifetime",
)


def _account_key(key: SecretStr) -> SecretStr:
    try:
        decoded = base64.b64decode(key.get_secret_value(), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded:
        raise ValueError("must be an account key in Base64, as the Azure portal shows it")
    return key


class AzureConfig(StorageConfig):
    """A container, or a directory of it, and the credentials to read it and to sign URLs.

    The credentials are the account's key, or an identity of Microsoft Entra: a client secret, a
    federated token (workload identity), a managed identity, or otherwise the result of
    azure-identity's default chain. With an identity, URLs are signed with user delegation keys.
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The location to serve: abfss://container@account.dfs.core.windows.net/ or a "
        "directory of it. The schemes abfs, wasbs and wasb are equivalent.",
        examples=["abfss://lake@acmelake.dfs.core.windows.net/"],
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the account's blob service, if it differs from the one that the prefix "
        "names: a private endpoint, or an emulator (with the account in the path).",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in presigned URLs, if recipients use a different one.",
    )
    account_key: Annotated[SecretStr, AfterValidator(_account_key)] | None = Field(
        default=None, description="Key of the storage account, instead of an identity."
    )
    tenant_id: str | None = Field(
        default=None, min_length=1, description="Entra tenant of the client secret or federated token."
    )
    client_id: str | None = Field(
        default=None,
        min_length=1,
        description="Client id of the application or of the user-assigned managed identity.",
    )
    client_secret: SecretStr | None = Field(
        default=None, description="Secret of the application that client_id and tenant_id name."
    )
    federated_token_file: str | None = Field(
        default=None,
        min_length=1,
        description="File with the federated token of a workload identity, for client_id and "
        "tenant_id.",
    )
    managed_identity: bool = Field(
        default=False,
        description="Use the managed identity of the machine: the system-assigned one, or that of "
        "client_id.",
    )
    authority_host: str | None = Field(
        default=None,
        pattern=r"^https://[A-Za-z0-9.-]+/?$",
        description="URL that issues Entra tokens. Default: that of the prefix's cloud.",
    )
    delegation_key_lifetime: int = Field(
        default=86_400,
        ge=3600,
        le=604_800,
        description="Lifetime of a user delegation key in seconds. URLs and credentials expire with "
        "their key. Keys are renewed after half of the lifetime.",
    )
    hierarchical: bool = Field(
        default=False,
        description="Whether the account has a hierarchical namespace (Data Lake Storage Gen2), so "
        "that credentials can be limited to a directory.",
    )
    vending: Vending | None = Field(
        default=None,
        description="Scope of temporary credentials: directory (the table's own directory; requires "
        "hierarchical, and is then the default), or container (the entire container). "
        "Otherwise, none are vended.",
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.vending == "directory" and not self.hierarchical:
            raise ValueError(
                "vending: directory requires an account with a hierarchical namespace: if the "
                "account has one, set hierarchical: true"
            )
        if self.account_key is not None:
            stray = [name for name in _IDENTITY if name in self.model_fields_set]
            if stray:
                raise ValueError(
                    f"account_key and {', '.join(stray)} are mutually exclusive: remove one"
                )
        self._check_identity()
        return self

    def _check_identity(self) -> None:
        chosen = [
            name
            for name in ("client_secret", "federated_token_file", "managed_identity")
            if getattr(self, name)
        ]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are mutually exclusive: remove one")
        if chosen in (["client_secret"], ["federated_token_file"]):
            if self.tenant_id is None or self.client_id is None:
                raise ValueError(f"{chosen[0]} requires tenant_id and client_id")
        elif self.tenant_id is not None:
            raise ValueError(
                "tenant_id requires client_secret or federated_token_file: set one of them, or "
                "remove tenant_id"
            )
        if self.account_key is None and not self.service_endpoint.startswith("https://"):
            raise ValueError(
                "the endpoint must start with https://, because the gateway sends an identity's "
                "tokens to it"
            )

    @property
    def container(self) -> Container:
        """Return the container of `prefix`."""
        return Container.of(self.prefix)

    @property
    def service_endpoint(self) -> str:
        """Return the URL of the account's blob service for the gateway itself."""
        return self.endpoint or self.container.blob_endpoint

    @property
    def public_service_endpoint(self) -> str:
        """Return the URL of the blob service for recipients."""
        return self.public_endpoint or self.service_endpoint

    @property
    def vends(self) -> Vending | None:
        """Return the scope of temporary credentials; `None` if none are vended."""
        return self.vending or ("directory" if self.hierarchical else None)
