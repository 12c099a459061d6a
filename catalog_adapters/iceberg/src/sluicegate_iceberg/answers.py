"""The answers of an Iceberg REST catalog, as far as the gateway reads them.

Source: Iceberg's REST catalog specification; for generic tables, Polaris' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import NAMESPACE_URL, uuid5

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _as_texts(properties: object) -> object:
    """Properties as texts; what has no value is left out."""
    if not isinstance(properties, Mapping):
        return {} if properties is None else properties
    return {key: _as_text(value) for key, value in properties.items() if value is not None}


def _as_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool | int | float) else value


def _as_list(value: object) -> object:
    return [] if value is None else value


Properties = Annotated[Mapping[str, str], BeforeValidator(_as_texts)]


class CatalogAnswer(BaseModel):
    """Base of what is read; other fields are left alone."""

    # Values may be secrets, so messages never repeat them.
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class ConfigAnswer(CatalogAnswer):
    """`CatalogConfig`: what `/v1/config` answers."""

    defaults: Properties = Field(default_factory=dict)
    overrides: Properties = Field(default_factory=dict)
    endpoints: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()


class Page(CatalogAnswer):
    """Where the next page of a listing is."""

    next_page_token: str | None = Field(default=None, alias="next-page-token")


class NamespacesPage(Page):
    """`ListNamespacesResponse`."""

    namespaces: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_as_list)]


class Identifier(CatalogAnswer):
    """`TableIdentifier`."""

    namespace: tuple[str, ...]
    name: str


class TablesPage(Page):
    """`ListTablesResponse`, and Polaris' `ListGenericTablesResponse`."""

    identifiers: Annotated[tuple[Identifier, ...], BeforeValidator(_as_list)]


class TableMetadata(CatalogAnswer):
    """`TableMetadata`, the little of it that says where the table is."""

    table_uuid: str | None = Field(default=None, alias="table-uuid")
    location: str

    @property
    def identity(self) -> str:
        """Tells the table from another one of its name, before or after it, as far as can be told."""
        return self.table_uuid or str(uuid5(NAMESPACE_URL, self.location.rstrip("/")))


class StorageCredential(CatalogAnswer):
    """`StorageCredential`: properties that hold below a location prefix."""

    prefix: str
    config: Properties = Field(repr=False)


Credentials = Annotated[tuple[StorageCredential, ...], BeforeValidator(_as_list)]


class LoadedTable(CatalogAnswer):
    """`LoadTableResult`."""

    metadata_location: str | None = Field(default=None, alias="metadata-location")
    metadata: TableMetadata
    config: Properties = Field(default_factory=dict, repr=False)
    storage_credentials: Credentials = Field(default=(), alias="storage-credentials", repr=False)

    @property
    def length(self) -> int:
        """Characters of what it holds, but for the credentials."""
        texts = (self.metadata.location, self.metadata.table_uuid, self.metadata_location)
        return sum(map(len, filter(None, (*texts, *self.config, *self.config.values()))))


class LoadedCredentials(CatalogAnswer):
    """`LoadCredentialsResponse`."""

    storage_credentials: Credentials = Field(alias="storage-credentials", repr=False)


class GenericTable(CatalogAnswer):
    """Polaris' `GenericTable`."""

    name: str
    format: str
    base_location: str | None = Field(default=None, alias="base-location")
    properties: Properties = Field(default_factory=dict)


class LoadedGenericTable(CatalogAnswer):
    """Polaris' `LoadGenericTableResponse`."""

    table: GenericTable
