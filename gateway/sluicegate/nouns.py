"""The nouns of the gateway: frozen values that one step hands to the next. Plugins get them from `api`.

A *location* is always an absolute URL whose path is literal, not percent-encoded
(`s3://lake/a b/part%20.parquet` names the key `a b/part%20.parquet`); times are integers in epoch
milliseconds, durations integers in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sluicegate.budget import Budget

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from sluicegate.api import CredentialVendor

AccessMode = Literal["url", "dir"]


# --- nouns: what recipients see -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """A named set of schemas that recipients are granted (delta-sharing-protocol.md, "Concepts")."""

    id: str
    name: str
    display_name: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedSchemaSource:
    """A catalog's schema that is shared whole: it lists what the catalog holds at the time.

    Attributes:
        catalog: Name of a configured catalog.
        schema: The schema's name in that catalog.
        include: Patterns of the tables that are shared, `*` for any text.
        exclude: Patterns of those that are not.
        comment: As the following, what each of its tables is shared with; see `SharedTable`.
    """

    catalog: str
    schema: str
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    comment: str | None = None
    history: bool = False
    change_feed: bool = False
    start_version: int = 0
    partition_filter: str | None = None
    access_modes: tuple[AccessMode, ...] = ("url",)


@dataclass(frozen=True, slots=True)
class Schema:
    """A group of tables in a share; with a `source`, the tables are those of a catalog's schema."""

    id: str
    share: Share
    name: str
    comment: str | None = None
    source: SharedSchemaSource | None = None


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A table as recipients name it, and where it comes from.

    Attributes:
        id: Stable for the life of this entry; unique within the share.
        catalog: Name of a configured catalog.
        identifier: The table's name in that catalog (for `paths`: its location).
        history: Time travel, streaming and change feeds are shared.
        change_feed: `/changes` is shared.
        start_version: Nothing older can be reached.
        partition_filter: Only files whose partition values satisfy it are shared.
        access_modes: What the share allows: presigned URLs, temporary directory credentials, or both.
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

    @property
    def full_name(self) -> str:
        """`share.schema.table`, as recipients write it."""
        return f"{self.share}.{self.schema}.{self.name}"


PolicyAction = Literal["read", "vend"]
"""What policies are asked about: seeing and reading a table, or having credentials for it, too."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A recipient, how it proved itself, and from where."""

    id: str
    name: str
    method: str
    address: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


# --- nouns: what catalogs and storage answer ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table as a catalog's listing names it.

    `id` is that of `CatalogTable`, where listings tell it: a table that is dropped and created anew has
    another one.
    """

    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogCommit:
    """A commit of a catalog-managed Delta table that the catalog has ratified.

    `file_name` lies in `_delta_log/_staged_commits/`; a staged file wins over a published one.
    """

    version: int
    timestamp: int
    file_name: str
    size: int


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """Where a catalog says that a table is.

    Attributes:
        id: Stable; a table that is dropped and created anew has another one.
        format: `delta`, or a format that a plugin registers.
        location: Root directory of the table, without a trailing slash.
        auxiliary_locations: Other directories that hold files of the table.
        metadata_location: Current metadata file (Iceberg).
        metadata_tag: Tells this file from another one of its name, before or after it; `None` where
            names are not used again.
        commits: Commits that the catalog has ratified (catalog-managed Delta), ascending.
        latest_version: The version beyond which nothing in the store counts (catalog-managed Delta).
        vendor: Who vends credentials for it; `None` is the storage plugin of its location.
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


@dataclass(frozen=True, slots=True)
class ObjectDirectory:
    """A location opened for reading: an obstore store, and the key prefix of the location in it.

    Stores are shared between directories (one connection pool a bucket), so keys in it are
    `prefix + "/" + name` (see `key`).

    Attributes:
        store: Reads objects.
        prefix: Of the location's keys, without slashes at its ends.
        budget: What reading the table may still cost; formats count there whatever they decode.
    """

    store: ObjectStore
    prefix: str
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)

    def key(self, name: str) -> str:
        """Key in the store of an object named relative to this directory; `""` is the directory."""
        return "/".join(part for part in (self.prefix, name) if part)


@dataclass(frozen=True, slots=True)
class Presigned:
    """URLs that read one object each, in the order asked, and when the first of them expires (ms)."""

    urls: list[str] = field(repr=False)
    expires_at: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What temporary credentials shall open: read only, these directories, for whom, how long.

    Attributes:
        locations: Directories, without trailing slashes; at least one, all of one bucket or container.
        lifetime: Wanted life in seconds; the vendor may give less, never more.
        principal: The recipient.
        binding: How they are made, for vendors that know several ways: `role`, `session` or `full`
            (s3a-delegation-tokens.md); `None` is the way that the vendor is configured for.
    """

    locations: tuple[str, ...]
    lifetime: int
    principal: Principal
    binding: str | None = None


@dataclass(frozen=True, slots=True)
class TemporaryCredentials:
    """One cloud's secret for one location prefix; `repr` shows no secret.

    Attributes:
        location: The directory that the credentials open; of several, the first.
        kind: `aws`, `azure`, `gcp` or `r2`.
        secret: The cloud's own fields: `access_key_id`, `secret_access_key`, `session_token`;
            `sas_token`; `oauth_token`.
        expires_at: The real expiry, epoch milliseconds; `None` where they do not end by themselves
            (long-lived keys, binding `full`).
        connection: What a client needs beside the secret, none of it secret, where it is known:
            `region`, `endpoint` (URL), `path_style` (`true` or `false`), `role_arn`; `account`
            (Azure's storage account); `encryption_algorithm` and `encryption_key` (a key's name or
            ARN, never key material) as s3a-delegation-tokens.md spells them.
    """

    location: str
    kind: Literal["aws", "azure", "gcp", "r2"]
    secret: Mapping[str, str] = field(repr=False)
    expires_at: int | None
    connection: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndedSessions:
    """What became of a wish to end the sessions that a recipient still has.

    Attributes:
        applied: The vendor did it; else `instructions` say how an administrator does.
        instructions: What was done, or what to do, for people; may hold a policy document to paste.
    """

    applied: bool
    instructions: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for audit and metering. Holds names and numbers, never a secret."""

    kind: str
    at: int
    principal: Principal | None = None
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)


def join_location(directory: str, path: str) -> str:
    """The location of a path in a directory; a path that is a location itself stays as it is."""
    return path if "://" in path else f"{directory.rstrip('/')}/{path}"
