"""Configuration of one Azure storage."""

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
        raise ValueError("must be an account key as Azure shows it, in base64")
    return key


class AzureConfig(StorageConfig):
    """A container, or a directory of it, and what reads and signs for it.

    That is the account's key, or an identity of Microsoft Entra: a client secret, a federated token
    (workload identity), a managed identity, or else whatever azure-identity's default chain finds.
    With an identity, URLs are signed by user delegation keys.
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The locations served: abfss://container@account.dfs.core.windows.net/ or a "
        "directory of it (abfs, wasbs and wasb alike).",
        examples=["abfss://lake@acmelake.dfs.core.windows.net/"],
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the account's blob service, where it is not the one that the prefix names: "
        "a private endpoint, or an emulator (with the account in the path).",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in presigned URLs, where recipients use another one.",
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
        description="File with a workload identity's federated token, for client_id and tenant_id.",
    )
    managed_identity: bool = Field(
        default=False,
        description="Use the managed identity of the machine: the system's, or that of client_id.",
    )
    authority_host: str | None = Field(
        default=None,
        pattern=r"^https://[A-Za-z0-9.-]+/?$",
        description="URL that gives Entra tokens. By default the one of the prefix's cloud.",
    )
    delegation_key_lifetime: int = Field(
        default=86_400,
        ge=3600,
        le=604_800,
        description="Seconds that a user delegation key lives; URLs and credentials die with it, and "
        "it is renewed at half.",
    )
    hierarchical: bool = Field(
        default=False,
        description="The account has a hierarchical namespace (Data Lake Storage Gen2), so credentials "
        "can be limited to a directory.",
    )
    vending: Vending | None = Field(
        default=None,
        description="What temporary credentials open: directory (the table's own; needs hierarchical, "
        "and is then the default), or container (the whole one). Otherwise none are vended.",
    )

    @model_validator(mode="after")
    def _refuse_what_does_not_go_together(self) -> Self:
        if self.vending == "directory" and not self.hierarchical:
            raise ValueError(
                "vending: directory needs an account with a hierarchical namespace: set hierarchical: "
                "true if it has one"
            )
        if self.account_key is not None:
            stray = [name for name in _IDENTITY if name in self.model_fields_set]
            if stray:
                raise ValueError(f"account_key and {', '.join(stray)} exclude each other: remove one")
        self._check_identity()
        return self

    def _check_identity(self) -> None:
        chosen = [
            name
            for name in ("client_secret", "federated_token_file", "managed_identity")
            if getattr(self, name)
        ]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} exclude each other: remove one")
        if chosen in (["client_secret"], ["federated_token_file"]):
            if self.tenant_id is None or self.client_id is None:
                raise ValueError(f"{chosen[0]} needs tenant_id and client_id")
        elif self.tenant_id is not None:
            raise ValueError("tenant_id belongs to a client_secret or a federated_token_file")
        if self.account_key is None and not self.service_endpoint.startswith("https://"):
            raise ValueError("an identity's tokens are sent over https only: correct the endpoint")

    @property
    def container(self) -> Container:
        """The container of `prefix`."""
        return Container.of(self.prefix)

    @property
    def service_endpoint(self) -> str:
        """Where the gateway itself reaches the account's blob service."""
        return self.endpoint or self.container.blob_endpoint

    @property
    def public_service_endpoint(self) -> str:
        """Where recipients reach it."""
        return self.public_endpoint or self.service_endpoint

    @property
    def vends(self) -> Vending | None:
        """What temporary credentials open; `None` where none are vended."""
        return self.vending or ("directory" if self.hierarchical else None)
