"""The models of the gateway, as frozen values. Plugins import them from `api`.

A *location* is an absolute URL whose path is literal, not percent-encoded: the key of
`s3://lake/a b/part%20.parquet` is `a b/part%20.parquet`. Times are integers in epoch milliseconds, and
durations are integers in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from sluicegate.api.budget import Budget
from sluicegate.api.principals import Principal

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from sluicegate.api.vending import CredentialVendor

AccessMode = Literal["url", "dir"]
"""How a recipient reads a table: with presigned URLs of files, or with credentials for directories."""

SharedKind = Literal["tables", "volumes", "models", "skills"]
"""What an entire schema of a catalog shares."""


_NO_TAGS: Final[Mapping[str, str]] = {}


def _no_tags() -> Mapping[str, str]:
    # One mapping for all, because there can be millions of tables.
    return _NO_TAGS


# --- models that recipients see -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SharedSchemaSource:
    """The source of a schema that is shared entirely, with the catalog's current tables or assets.

    Attributes:
        catalog: Name of a configured catalog.
        schema: Name of the schema in that catalog.
        include: Patterns of the tables and other assets to share; `*` matches any text.
        exclude: Patterns of the tables and other assets not to share.
        alias: Replaces each character that is not allowed in recipients' names of tables; `None` leaves
            such tables out.
        comment: This and the following attributes apply to each of its tables; see `SharedTable`.
        kinds: What is shared: its tables, or other assets.
    """

    catalog: str
    schema: str
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    alias: str | None = None
    comment: str | None = None
    history: bool = False
    change_feed: bool = False
    start_version: int = 0
    partition_filter: str | None = None
    access_modes: tuple[AccessMode, ...] = ("url",)
    kinds: tuple[SharedKind, ...] = ("tables",)


@dataclass(frozen=True, slots=True)
class SharedCatalogSource:
    """The source of a share of an entire catalog, with the current schemas of the catalog.

    Attributes:
        catalog: Name of a configured catalog.
        include: Patterns of the schemas to share; `*` matches any text.
        exclude: Patterns of the schemas not to share.
        alias: Replaces each character that is not allowed in recipients' names of schemas and tables;
            `None` leaves such schemas and tables out.
        comment: This and the following attributes apply to each table; see `SharedTable`.
        kinds: What each schema shares; see `SharedSchemaSource`.
    """

    catalog: str
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    alias: str | None = None
    comment: str | None = None
    history: bool = False
    change_feed: bool = False
    start_version: int = 0
    partition_filter: str | None = None
    access_modes: tuple[AccessMode, ...] = ("url",)
    kinds: tuple[SharedKind, ...] = ("tables",)

    def schema(self, name: str) -> SharedSchemaSource:
        """The source of one of the catalog's schemas, by its name in the catalog."""
        return SharedSchemaSource(
            catalog=self.catalog,
            schema=name,
            alias=self.alias,
            comment=self.comment,
            history=self.history,
            change_feed=self.change_feed,
            start_version=self.start_version,
            partition_filter=self.partition_filter,
            access_modes=self.access_modes,
            kinds=self.kinds,
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A named set of schemas that recipients are granted (Delta Sharing protocol, "Concepts").

    With a `source`, it contains the schemas of that catalog in addition to those that it declares.
    `tags` apply to each of its tables; see `SharedTable`.
    """

    id: str
    name: str
    display_name: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    source: SharedCatalogSource | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """A group of tables in a share. With a `source`, it contains the tables of a catalog's schema.

    `tags` apply to each of its tables, in addition to those of its share; see `SharedTable`.
    """

    id: str
    share: Share
    name: str
    comment: str | None = None
    source: SharedSchemaSource | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A shared table, with its names for recipients and in the catalog.

    Attributes:
        id: Unique within the share, and stable while this entry exists.
        catalog: Name of a configured catalog.
        identifier: The table's name in that catalog (for `paths`: its location).
        history: Whether time travel, streaming and change feeds are shared.
        change_feed: Whether `/changes` is shared.
        start_version: The first version that recipients can read.
        partition_filter: Only files whose partition values satisfy it are shared.
        access_modes: Allowed access: presigned URLs, temporary directory credentials, or both.
        ref: Name of the branch or tag that is shared; `None` for the table's main branch.
        tags: Attributes for policies, by name, including those of the schema and share. They are the
            same in listings and in other requests. Recipients don't see them.
    """

    id: str
    share: str
    share_id: str
    schema: str
    name: str
    catalog: str
    identifier: str
    comment: str | None = None
    history: bool = False
    change_feed: bool = False
    start_version: int = 0
    partition_filter: str | None = None
    access_modes: tuple[AccessMode, ...] = ("url",)
    ref: str | None = None
    tags: Mapping[str, str] = field(default_factory=_no_tags, hash=False)

    @property
    def full_name(self) -> str:
        """`share.schema.table`, as recipients write it."""
        return f"{self.share}.{self.schema}.{self.name}"


PolicyAction = Literal["read", "vend"]
"""Actions that policies decide about: seeing and reading a table, or also getting credentials."""


# --- models that catalogs and storage return ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table in the listing of a catalog.

    `id` is that of `CatalogTable`, if the listing contains it: a table that is dropped and created
    again has a new id. `created_at` is in epoch milliseconds, if the listing contains it: if the names
    of tables differ only in case, recipients get the oldest. `tags` are those of `CatalogTable`.
    """

    name: str
    id: str | None = None
    created_at: int | None = None
    tags: Mapping[str, str] = field(default_factory=_no_tags, hash=False)


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page of a schema's tables, and the token of the next page; `None` after the last."""

    tables: Sequence[ListedTable]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogCommit:
    """A commit of a catalog-managed Delta table that the catalog has ratified.

    `file_name` is in `_delta_log/_staged_commits/`. Staged files take precedence over published ones.
    """

    version: int
    timestamp: int
    file_name: str
    size: int


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as the catalog describes it.

    Attributes:
        id: Stable id. A table that is dropped and created again has a new one.
        format: `delta`, or a format that a plugin registers.
        location: Root directory of the table, without a trailing slash.
        auxiliary_locations: Other directories that contain files of the table.
        metadata_location: Current metadata file (Iceberg).
        metadata_tag: Distinguishes this file from earlier and later ones with the same name; `None` if
            names are not reused.
        commits: Commits that the catalog has ratified (catalog-managed Delta), ascending.
        latest_version: Later versions in the store are ignored (catalog-managed Delta).
        vendor: Vends credentials for the table; `None` for the storage plugin of its location.
        refs: Names of its branches and tags; `None` if the catalog does not report them (Iceberg). They
            are not compared, because a table is read in the same way when another branch is added.
        ref: The branch or tag to read; `None` for the main branch. The gateway sets it.
        name: Its name as listings contain it, without the schema, if it can differ in case from the
            requested one.
        tags: Attributes for policies, if listings contain them, too; see `SharedTable`.
    """

    id: str
    format: str
    location: str
    auxiliary_locations: tuple[str, ...] = ()
    metadata_location: str | None = None
    commits: tuple[CatalogCommit, ...] = ()
    latest_version: int | None = None
    vendor: CredentialVendor | None = None
    metadata_tag: str | None = None
    refs: frozenset[str] | None = field(default=None, compare=False)
    ref: str | None = None
    name: str | None = field(default=None, compare=False)
    tags: Mapping[str, str] = field(default_factory=_no_tags, compare=False)


@dataclass(frozen=True, slots=True)
class ObjectDirectory:
    """A location opened for reading: an obstore store, and the key prefix of the location in it.

    Read with the methods of the store, such as `store.get_async(key)`. Functions of obstore that take a
    store, such as `obstore.get_async(store, key)`, don't find local files.

    Directories share stores (one connection pool per bucket), so the key of an object is
    `prefix + "/" + name` (see `key`).

    Attributes:
        store: Reads objects.
        prefix: Prefix of the location's keys, without leading and trailing slashes.
        budget: Remaining budget for reading the table. Formats count everything that they decode.
        span: Creates a span around a request to the store: `store.get`, `store.list` or `store.head`.
    """

    store: ObjectStore
    prefix: str
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)
    span: Callable[[str], AbstractContextManager[object]] = field(
        default=nullcontext, compare=False, repr=False
    )

    def key(self, name: str) -> str:
        """Key in the store of an object named relative to this directory; `""` is the directory."""
        return "/".join(part for part in (self.prefix, name) if part)


@dataclass(frozen=True, slots=True)
class Presigned:
    """URLs for one object each, in the requested order, and the first expiry in epoch milliseconds."""

    urls: list[str] = field(repr=False)
    expires_at: int


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """A request that a client sends to the URL of an object.

    Attributes:
        method: `GET` or `HEAD`.
        headers: Headers that the client sends and that some stores accept only if the signature covers
            them (`x-amz-…`). Names are in lower case.
        label: Text that the store can write into its access log, so that it names the response that
            contained the URL: letters, digits, `-` and `_`. Storages can leave it out. It must not
            change what a URL reads.
    """

    method: Literal["GET", "HEAD"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event for audit and metering. It contains names and numbers, but never a secret."""

    kind: str
    at: int
    principal: Principal | None = None
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)


def join_location(directory: str, path: str) -> str:
    """The location of a path in a directory. A path that is already a location is not changed."""
    return path if "://" in path else f"{directory.rstrip('/')}/{path}"
