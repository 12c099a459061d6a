"""The one module that plugins import: the hook marker, nouns, base classes, types and errors.

Nothing here imports a web framework, a cloud SDK or the rest of the core. A *location* is always an
absolute URL whose path is literal, not percent-encoded (`s3://lake/a b/part%20.parquet` names the key
`a b/part%20.parquet`); times are integers in epoch milliseconds, durations integers in seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import pluggy
from pydantic import SecretStr

from sluicegate import conditions
from sluicegate.budget import Budget, TableLimits, TableTooLarge
from sluicegate.delegation_tokens import MarshalledCredentials, TokenBinding, TokenIssuingPolicy
from sluicegate.errors import (
    ConfigurationError,
    InvalidRequest,
    NotFound,
    ObjectMissing,
    PermissionDenied,
    SluicegateError,
    StorageError,
    TableUnreadable,
    Unauthenticated,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.executors import (
    DelegatedTask,
    TableIdentity,
    TaskErrorCode,
    TaskExecutor,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
)
from sluicegate.kit.addresses import internal_addresses
from sluicegate.kit.authorized_client import AuthorizedClient
from sluicegate.kit.endpoints import canonical_endpoint_url
from sluicegate.kit.fresh import Expiring, Fresh
from sluicegate.kit.http_client import HttpAnswer, HttpClient, HttpRequest, NoAnswer
from sluicegate.kit.oauth_client import AccessToken, AccessTokens, OAuth2Client
from sluicegate.kit.object_keys import ObjectKeys
from sluicegate.kit.object_stores import ObjectStores, client_options, retry_config
from sluicegate.kit.percent import quote_keys
from sluicegate.kit.presigning import batches, signed_lifetime
from sluicegate.kit.redaction import without_queries
from sluicegate.nouns import (
    AccessMode,
    CatalogCommit,
    CatalogTable,
    EndedSessions,
    Event,
    ListedTable,
    ObjectDirectory,
    PolicyAction,
    Presigned,
    Principal,
    Schema,
    Scope,
    Share,
    SharedSchemaSource,
    SharedTable,
    TemporaryCredentials,
)
from sluicegate.plugin_config import CatalogConfig, PluginConfig, StorageConfig
from sluicegate.plugin_types import (
    AuthenticatorType,
    CatalogType,
    FormatType,
    PolicyType,
    StorageType,
    TaskExecutorType,
)
from sluicegate.realm_grants import RealmGrant, comparable_location
from sluicegate.units import Duration

if TYPE_CHECKING:
    from sluicegate.tables.changes import Changes
    from sluicegate.tables.snapshot import Snapshot

__all__ = [
    "AccessMode",
    "AccessToken",
    "AccessTokens",
    "Authenticator",
    "AuthenticatorType",
    "AuthorizedClient",
    "Budget",
    "Catalog",
    "CatalogCommit",
    "CatalogConfig",
    "CatalogTable",
    "CatalogType",
    "ConfigurationError",
    "CredentialVendor",
    "DelegatedTask",
    "Duration",
    "EndedSessions",
    "Event",
    "Expiring",
    "FormatType",
    "Fresh",
    "HttpAnswer",
    "HttpClient",
    "HttpRequest",
    "InvalidRequest",
    "LinkSigner",
    "ListedTable",
    "MarshalledCredentials",
    "NoAnswer",
    "NotFound",
    "OAuth2Client",
    "ObjectDirectory",
    "ObjectKeys",
    "ObjectMissing",
    "ObjectStores",
    "PermissionDenied",
    "PluginConfig",
    "PluginContext",
    "Policy",
    "PolicyAction",
    "PolicyType",
    "Presigned",
    "Principal",
    "RealmGrant",
    "Schema",
    "Scope",
    "SecretStr",
    "Share",
    "SharedSchemaSource",
    "SharedTable",
    "SluicegateError",
    "Storage",
    "StorageConfig",
    "StorageError",
    "StorageType",
    "TableFormat",
    "TableIdentity",
    "TableLimits",
    "TableTooLarge",
    "TableUnreadable",
    "TaskErrorCode",
    "TaskExecutor",
    "TaskExecutorType",
    "TaskFailed",
    "TaskProgress",
    "TaskResult",
    "TaskRun",
    "TemporaryCredentials",
    "TokenBinding",
    "TokenIssuingPolicy",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedOperation",
    "batches",
    "canonical_endpoint_url",
    "client_options",
    "comparable_location",
    "conditions",
    "hookimpl",
    "internal_addresses",
    "quote_keys",
    "retry_config",
    "signed_lifetime",
    "without_queries",
]

hookimpl = pluggy.HookimplMarker("sluicegate")


# --- what instances are given ---------------------------------------------------------------------


class LinkSigner(Protocol):
    """Signs links to bytes that the gateway itself serves, for stores that cannot presign."""

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Signed links to objects of the calling storage instance, by their paths below its prefix."""


class PluginContext(Protocol):
    """What the core offers to a configured instance."""

    @property
    def name(self) -> str:
        """The instance's name in the configuration, for messages."""

    @property
    def links(self) -> LinkSigner:
        """Signs gateway links for this instance's own locations."""

    async def open(self, location: str) -> ObjectDirectory:
        """Open a location through the storage instance that serves it (longest prefix wins).

        Raises:
            ConfigurationError: No configured storage serves the location.
        """


# --- base classes ---------------------------------------------------------------------------------


class CredentialVendor(ABC):
    """Gives temporary, read-only credentials for directories."""

    def vends(self, location: str) -> bool:
        """Whether credentials for a directory can be had, as far as the configuration tells.

        Asked for every listed table, so it does no I/O.
        """
        return True

    def hands_on(self, location: str) -> bool:
        """Whether recipients may get what is vended for a directory, as far as is known; no I/O.

        False where it was learnt that a vendor's credentials never end, or open more: these read and
        sign URLs inside of the gateway, and directory access is not offered.
        """
        return self.vends(location)

    @abstractmethod
    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Credentials for exactly the scope's locations; `expires_at` is the real expiry.

        Raises:
            PermissionDenied: A location lies outside of what the vendor serves, or the scope's
                binding is not allowed by its configuration.
            StorageError: The cloud does not give any now.
            UnsupportedOperation: The cloud cannot limit credentials to these locations.
        """

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End the credentials that a recipient was given before a moment (epoch milliseconds).

        Raises:
            UnsupportedOperation: Credentials of this kind only end by themselves.
        """
        raise UnsupportedOperation("credentials of this storage cannot be ended before they expire")


class Catalog(ABC):
    """Where tables come from. One instance per entry of `catalogs:` in the configuration."""

    @abstractmethod
    async def list_schemas(self) -> list[str]:
        """Names of the schemas that the catalog offers, sorted."""

    @abstractmethod
    async def list_tables(self, schema: str) -> list[str]:
        """Names of the readable tables in a schema, sorted.

        Raises:
            NotFound: There is no such schema.
        """

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """What `list_tables` names, with the ids of the tables where one listing tells them all.

        Override it where it does: recipients then see another id once a table was created anew. Without
        ids, a table's name stands for it.

        Raises:
            NotFound: There is no such schema.
        """
        return [ListedTable(name) for name in await self.list_tables(schema)]

    @abstractmethod
    def identifier(self, schema: str, table: str) -> str:
        """The identifier that `load_table` takes for a listed table."""

    @abstractmethod
    async def load_table(self, identifier: str) -> CatalogTable:
        """Look a table up.

        Raises:
            NotFound: There is no such table (or the gateway may not see it).
            Unavailable: The catalog does not answer.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""


class Storage(ABC):
    """Presigns and opens the locations below one prefix. One instance per entry of `storage:`.

    A storage that can vend credentials also derives from `CredentialVendor`.
    """

    @property
    @abstractmethod
    def prefix(self) -> str:
        """The location prefix that this instance serves, ending with a slash."""

    @abstractmethod
    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs, thousands at once.

        Args:
            locations: Objects below `prefix`.
            expires_in: Wanted lifetime in seconds; shorter where what signs them expires sooner.
            credentials: Sign with these, which a catalog vended, instead of the instance's own.

        Raises:
            PermissionDenied: A location lies outside of `prefix`.
            StorageError: Credentials for signing cannot be had.
        """

    @abstractmethod
    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading, with the instance's own or the given credentials.

        Where links are signed by `PluginContext.links`, it also opens the single object of a link.

        Raises:
            PermissionDenied: The location lies outside of `prefix`.
            StorageError: The store cannot be reached or refuses the credentials.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""


class TableFormat(ABC):
    """Reads tables of one format into snapshots and changes."""

    @abstractmethod
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """The newest snapshot, advanced from `previous` where that is cheaper.

        Raises:
            NotFound: There is no table at the location.
            TableUnreadable: The table's metadata is broken or needs an unknown feature.
            Unavailable: The store does not answer.
        """

    @abstractmethod
    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """The snapshot of one version.

        Raises:
            InvalidRequest: The version does not exist or cannot be rebuilt any more.
        """

    def still_has(self, latest: Snapshot, version: int) -> bool:
        """Whether a version that was read before can be named as long as this one is the newest.

        It does no I/O. A table that goes back, or forgets old versions, has some no more.

        Args:
            latest: The newest snapshot.
            version: What `at_version` was asked for then.
        """
        return True

    @abstractmethod
    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """The version that a timestamp names.

        Args:
            latest: The newest snapshot: its metadata says how the table's timestamps are kept.
            table: What the catalog says.
            directory: Its location, opened.
            timestamp: Epoch milliseconds.
            earliest_after: The earliest version at or after the timestamp, instead of the latest
                version at or before it.

        Raises:
            InvalidRequest: No version satisfies it.
        """

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """The commits from one version to another, for streams and change feeds.

        Args:
            table: What the catalog says.
            directory: Its location, opened.
            latest: The newest snapshot.
            start: The first version.
            end: The last version, not below the first and not beyond the newest.

        Raises:
            InvalidRequest: Some of the commits are gone.
            TableUnreadable: The table's metadata is broken or needs an unknown feature.
            Unavailable: The store does not answer.
            UnsupportedOperation: Tables of this format do not tell their changes.
        """
        raise UnsupportedOperation(f"tables of format '{table.format}' do not tell their changes")

    async def derived(self, table: CatalogTable, directory: ObjectDirectory, recipe: str) -> bytes:
        """The bytes of a file that no store holds, which an answer named by a `DerivedFile`.

        Asked when a recipient fetches the file, perhaps by another process than the one that answered,
        and after the table has changed. The gateway checks the bytes by their digest, keeps them for a
        while, and bounds how many files are made at once.

        Args:
            table: What the catalog says now.
            directory: Its location, opened.
            recipe: Of the file, as this format wrote it.

        Raises:
            TableUnreadable: What it is made from is gone or broken.
            Unavailable: The store does not answer.
            UnsupportedOperation: Tables of this format have no such files.
        """
        raise UnsupportedOperation(f"tables of format '{table.format}' have no files of this kind")


class Authenticator(ABC):
    """Recognises recipients by something else than the gateway's own bearer tokens."""

    @abstractmethod
    async def authenticate(self, authorization: str, address: str | None) -> Principal | None:
        """The principal, or `None` for "not mine".

        Of the answer only `name`, a recipient's in any spelling, and `method` count: whether that
        recipient is let in, and its id and properties, the gateway looks up itself.

        Args:
            authorization: The header's value; never empty.
            address: IP address of the caller, or `None` where it is not known.

        Raises:
            Unauthenticated: Mine, and bad.
            Unavailable: Mine, but it cannot be checked now.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""


class Policy(ABC):
    """Narrows what a granted recipient may do; asked for sets, never item by item."""

    @abstractmethod
    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """The subset of `tables` on which the principal may perform the action.

        Asked in every request, so answer from memory where you can. Whoever may not read a table is
        told that there is none, and is not asked about otherwise.

        Args:
            principal: The recipient, with its properties.
            action: `read`: see the table, its metadata and files; `vend`: have temporary credentials
                for its directories, and see that they can be had (`dir`).
            tables: Those that were granted, and that policies before this one left: one, or as many
                as a page of a listing has.

        Raises:
            Unavailable: It cannot be decided now; so does every other error, and silence.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""
