"""Models of an Iceberg REST catalog's responses, with the fields that the gateway uses.

Source: Iceberg REST specification; Polaris generic tables API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import NAMESPACE_URL, uuid5

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

# Characters. Responses that are too long are not cached, so that an unchanged table is loaded again.
_LONGEST_NAMES = 8192


def _as_texts(properties: object) -> object:
    """Return properties as strings. Those without a value are left out."""
    if not isinstance(properties, Mapping):
        return {} if properties is None else properties
    return {key: _as_text(value) for key, value in properties.items() if value is not None}


def _as_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool | int | float) else value


def _as_list(value: object) -> object:
    return [] if value is None else value


def _last_logged(log: object) -> object:
    """Return the file named by the last entry of a metadata log."""
    last = log[-1] if isinstance(log, list) and log else None
    return last.get("metadata-file") if isinstance(last, Mapping) else None


def _names(refs: object) -> object:
    """Return the names of branches and tags, unless there are very many.

    The main branch exists even without a snapshot.
    """
    if not isinstance(refs, Mapping):
        return refs
    return frozenset(("main", *refs)) if sum(map(len, refs)) <= _LONGEST_NAMES else None


def _as_id(value: object) -> object:
    """Return an id, or `None` for anything else: format version 1 writes -1 for no snapshot."""
    return value if type(value) is int and value >= 0 else None


Properties = Annotated[Mapping[str, str], BeforeValidator(_as_texts)]
Id = Annotated[int | None, BeforeValidator(_as_id)]


class CatalogResponse(BaseModel):
    """Base of the models. Unknown fields are ignored."""

    # Values might be secrets, so error messages never repeat them.
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class ConfigResponse(CatalogResponse):
    """`CatalogConfig`: the response of `/v1/config`."""

    defaults: Properties = Field(default_factory=dict)
    overrides: Properties = Field(default_factory=dict)
    endpoints: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()


class Page(CatalogResponse):
    """A page of a listing, with the token of the next page."""

    next_page_token: str | None = Field(default=None, alias="next-page-token")


class NamespacesPage(Page):
    """`ListNamespacesResponse`."""

    namespaces: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_as_list)]


class Identifier(CatalogResponse):
    """`TableIdentifier`."""

    namespace: tuple[str, ...]
    name: str


class TablesPage(Page):
    """`ListTablesResponse`, and Polaris' `ListGenericTablesResponse`."""

    identifiers: Annotated[tuple[Identifier, ...], BeforeValidator(_as_list)]


class TableMetadata(CatalogResponse):
    """`TableMetadata`, reduced to the fields that locate the table and its current version."""

    table_uuid: str | None = Field(default=None, alias="table-uuid")
    location: str
    snapshot_id: Id = Field(default=None, alias="current-snapshot-id")
    schema_id: Id = Field(default=None, alias="current-schema-id")
    last_logged: Annotated[str | None, BeforeValidator(_last_logged)] = Field(
        default=None, alias="metadata-log"
    )
    refs: Annotated[frozenset[str] | None, BeforeValidator(_names)] = None

    @property
    def state(self) -> str | None:
        """Return a value that changes with each commit, or `None` without a metadata log.

        Each commit adds an entry to the log.
        """
        return None if self.last_logged is None else f"{self.table_uuid} {self.last_logged}"

    @property
    def identity(self) -> str:
        """Return a value that distinguishes the table from others with the same name, if possible."""
        return self.table_uuid or str(uuid5(NAMESPACE_URL, self.location.rstrip("/")))


class StorageCredential(CatalogResponse):
    """`StorageCredential`: properties that apply below a location prefix."""

    prefix: str
    config: Properties = Field(repr=False)


Credentials = Annotated[tuple[StorageCredential, ...], BeforeValidator(_as_list)]


class LoadedTable(CatalogResponse):
    """`LoadTableResult`."""

    metadata_location: str | None = Field(default=None, alias="metadata-location")
    metadata: TableMetadata
    config: Properties = Field(default_factory=dict, repr=False)
    storage_credentials: Credentials = Field(default=(), alias="storage-credentials", repr=False)

    @property
    def length(self) -> int:
        """Return the number of characters in its content, except credentials."""
        texts = (self.metadata.location, self.metadata.table_uuid, self.metadata_location)
        names = self.metadata.refs or ()
        return sum(map(len, filter(None, (*texts, *names, *self.config, *self.config.values()))))


class LoadedCredentials(CatalogResponse):
    """`LoadCredentialsResponse`."""

    storage_credentials: Credentials = Field(alias="storage-credentials", repr=False)


class GenericTable(CatalogResponse):
    """Polaris' `GenericTable`."""

    name: str
    format: str
    base_location: str | None = Field(default=None, alias="base-location")
    properties: Properties = Field(default_factory=dict)


class LoadedGenericTable(CatalogResponse):
    """Polaris' `LoadGenericTableResponse`."""

    table: GenericTable
