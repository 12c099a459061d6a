"""Models of the shares file, which declares shares, recipients, and grants.

Names follow the Delta Sharing protocol, "Names"; lengths of comments and properties follow its notes on
`List Shares`.
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, ClassVar, Self, get_args
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from sluicegate.access.directory_access import options_obstacle, ref_obstacle
from sluicegate.access.partition_filter import PartitionFilter
from sluicegate.api.assets.models import AssetKind
from sluicegate.api.models import AccessMode, SharedKind
from sluicegate.config.model import TokenLifetime
from sluicegate.config.yaml import nearest
from sluicegate.database.names import NamedKind, check_name

_MAX_VERSION = 2**63 - 1
# Some clients put names into URLs without percent-encoding.
_REPLACEMENT = re.compile(r"[A-Za-z0-9_~-]{1,16}")

# See docs/interop.md, "OpenSharing".
_SKILL = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")


def _storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("texts cannot contain a NUL character or half of a surrogate pair")
    return text


def _named(kind: NamedKind) -> AfterValidator:
    return AfterValidator(lambda name: check_name(kind, name))


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("expected a network like 203.0.113.0/24, without host bits set") from None


def _filter(text: str) -> str:
    PartitionFilter.parse(text)
    return text


def _replacement(text: str) -> str:
    if not _REPLACEMENT.fullmatch(text):
        raise ValueError("expected up to 16 ASCII letters, digits, '_', '-' or '~', such as _")
    return text


def _skill(name: str) -> str:
    if not _SKILL.fullmatch(name):
        raise ValueError(
            "a skill's name consists of up to 64 lower-case letters, digits and single hyphens"
        )
    return name


def _in_one_order(modes: tuple[AccessMode, ...]) -> tuple[AccessMode, ...]:
    if not modes:
        raise ValueError("expected url, dir or both")
    return tuple(mode for mode in get_args(AccessMode) if mode in modes)


def _known_kind(value: object) -> object:
    if isinstance(value, str) and value not in get_args(SharedKind):
        raise ValueError(f"unknown kind '{value}'{nearest(value, get_args(SharedKind))}")
    return value


def _kinds_in_one_order(kinds: tuple[SharedKind, ...]) -> tuple[SharedKind, ...]:
    if not kinds:
        raise ValueError("expected at least one of tables, volumes, models and skills")
    return tuple(kind for kind in get_args(SharedKind) if kind in kinds)


_STORABLE = AfterValidator(_storable)

Comment = Annotated[str, StringConstraints(max_length=65_536), _STORABLE]
DisplayName = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyKey = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyValue = Annotated[str, StringConstraints(max_length=1000), _STORABLE]
Properties = Annotated[dict[PropertyKey, PropertyValue], Field(max_length=50)]
Required = Annotated[str, StringConstraints(min_length=1), _STORABLE]
FilterText = Annotated[str, _STORABLE, AfterValidator(_filter)]
AccessModes = Annotated[tuple[AccessMode, ...], AfterValidator(_in_one_order)]
_KnownKind = Annotated[SharedKind, BeforeValidator(_known_kind)]
SharedKinds = Annotated[tuple[_KnownKind, ...], AfterValidator(_kinds_in_one_order)]
ShareName = Annotated[str, _named("share")]
SchemaName = Annotated[str, _named("schema")]
TableName = Annotated[str, _named("table")]
VolumeName = Annotated[str, _named("volume")]
ModelName = Annotated[str, _named("model")]
SkillName = Annotated[str, AfterValidator(_skill)]
VersionAlias = Annotated[str, _named("alias")]
VersionNumber = Annotated[int, Field(ge=0, le=_MAX_VERSION)]
RecipientName = Annotated[str, _named("recipient")]
NetworkText = Annotated[str, AfterValidator(_network)]
CatalogName = Annotated[str, Field(description="Name of a configured catalog.")]
Patterns = tuple[Required, ...]
Alias = Annotated[str, AfterValidator(_replacement)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableOptions(_Entry):
    """Options of a shared table, or of all tables of a shared schema."""

    comment: Comment | None = Field(default=None, description="For recipients.")
    history: bool = Field(default=False, description="Share time travel, streaming and change feeds.")
    change_feed: bool = Field(default=False, description="Share `/changes`; needs `history`.")
    start_version: int = Field(
        default=0, ge=0, le=_MAX_VERSION, description="Earliest version that recipients can read."
    )
    partition_filter: FilterText | None = Field(
        default=None, description="Share only these partitions: `country = recipient.country`."
    )
    access_modes: AccessModes = Field(
        default=("url",), description="Presigned URLs, temporary directory credentials, or both."
    )

    @model_validator(mode="after")
    def _can_be_honoured(self) -> Self:
        if self.change_feed and not self.history:
            raise ValueError("change_feed needs history: true")
        if "dir" in self.access_modes and (obstacle := options_obstacle(self)):
            raise ValueError(obstacle)
        return self


class TableEntry(TableOptions):
    """A shared table and its source."""

    catalog: CatalogName
    table: Required = Field(description="The table's name in that catalog; for `paths` its location.")
    ref: Required | None = Field(
        default=None,
        description="Branch or tag of an Iceberg table to share. Default: the main branch.",
    )
    id: UUID | None = Field(default=None, description="The table's id for clients, if it is added.")

    @model_validator(mode="after")
    def _ref_can_be_enforced(self) -> Self:
        if "dir" in self.access_modes and (obstacle := ref_obstacle(self.ref)):
            raise ValueError(obstacle)
        return self


class AssetEntry(_Entry):
    """A shared asset and its source. Recipients read it with temporary credentials."""

    kind: ClassVar[AssetKind]

    catalog: CatalogName
    comment: Comment | None = Field(default=None, description="For people.")

    @property
    def identifier(self) -> str:
        """The asset's name in its catalog, which the file contains under the name of its kind."""
        return str(getattr(self, self.kind))


class VolumeEntry(AssetEntry):
    """A shared volume and its source."""

    kind: ClassVar[AssetKind] = "volume"

    volume: Required = Field(description="The volume's name in that catalog; for `paths` its location.")


class ModelEntry(AssetEntry):
    """A shared model and its source."""

    kind: ClassVar[AssetKind] = "model"

    model: Required = Field(
        description="The model's name in that catalog; for `paths` the location with one folder for "
        "each version, named by its number."
    )
    versions: tuple[VersionNumber, ...] | None = Field(
        default=None, description="The shared versions. Default: all."
    )
    aliases: dict[VersionAlias, VersionNumber] = Field(
        default_factory=dict,
        description="Names of versions, such as `champion: 2`, in addition to those of the catalog.",
    )
    comment: Comment | None = Field(default=None, description="For recipients.")

    @model_validator(mode="after")
    def _names_shared_versions(self) -> Self:
        for alias, version in self.aliases.items():
            if self.versions is not None and version not in self.versions:
                raise ValueError(f"the alias '{alias}' is for version {version}, which is not shared")
        return self


class SkillEntry(AssetEntry):
    """A shared skill and its source."""

    kind: ClassVar[AssetKind] = "skill"

    skill: Required = Field(
        description="The skill's name in that catalog; for `paths` the location of the folder with "
        "`SKILL.md`, which has the same name as the skill."
    )


class _SourceEntry(TableOptions):
    kinds: SharedKinds = Field(
        default=("tables",),
        description="What to share: `tables`, `volumes`, `models`, `skills`. The catalog must be able "
        "to list them.",
    )

    @property
    def shares_tables(self) -> bool:
        """Whether tables are shared, and not only other assets."""
        return "tables" in self.kinds

    @model_validator(mode="after")
    def _filters_only_tables(self) -> Self:
        if self.partition_filter is not None and self.kinds != ("tables",):
            others = " and ".join(kind for kind in self.kinds if kind != "tables")
            raise ValueError(
                f"a partition_filter does not limit {others}: declare them one by one, or in another "
                "schema or share"
            )
        return self


class SchemaSourceEntry(_SourceEntry):
    """A schema of a catalog that is shared entirely, with the tables that it contains at each request.

    With `kinds`, also or only with other assets. The options apply to all of its tables.
    """

    catalog: CatalogName
    schema_: Required = Field(alias="schema", description="The schema's name in that catalog.")
    include: Patterns = Field(
        default=("*",), description="Names of tables and other assets to share, `*` for any text."
    )
    exclude: Patterns = Field(default=(), description="Names of tables and other assets not to share.")
    alias: Alias | None = Field(
        default=None,
        description="Replaces each space, slash, period and control character of a name; without it, "
        "tables and other assets with such names are left out.",
    )


class CatalogSourceEntry(_SourceEntry):
    """A catalog that is shared entirely, with the schemas that it lists at each request.

    The options apply to all of its tables.
    """

    catalog: CatalogName
    include: Patterns = Field(
        default=("*",), description="Names of schemas to share, `*` for any text."
    )
    exclude: Patterns = Field(default=(), description="Names of schemas not to share.")
    alias: Alias | None = Field(
        default=None,
        description="Replaces each space, slash, period and control character of the name of a schema, "
        "table or other asset; without it, those with such names are left out.",
    )


class SchemaEntry(_Entry):
    """A schema of a share: individual tables or an entire schema of a catalog, and other assets."""

    comment: Comment | None = Field(default=None, description="For people.")
    tables: dict[TableName, TableEntry] = Field(default_factory=dict, description="Tables by name.")
    source: SchemaSourceEntry | None = Field(
        default=None,
        alias="from",
        description="Share an entire schema of a catalog, instead of single `tables`.",
    )
    volumes: dict[VolumeName, VolumeEntry] = Field(default_factory=dict, description="Volumes by name.")
    models: dict[ModelName, ModelEntry] = Field(default_factory=dict, description="Models by name.")
    skills: dict[SkillName, SkillEntry] = Field(default_factory=dict, description="Skills by name.")

    @property
    def assets(self) -> dict[AssetKind, dict[str, AssetEntry]]:
        """The assets by kind and name."""
        return {"volume": {**self.volumes}, "model": {**self.models}, "skill": {**self.skills}}

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if self.source and self.source.shares_tables and self.tables:
            raise ValueError("a schema has either tables or from, not both")
        return self


class ShareEntry(_Entry):
    """A share. The file declares its entire content."""

    display_name: DisplayName | None = Field(default=None, description="Shown instead of the name.")
    comment: Comment | None = Field(default=None, description="For recipients.")
    properties: Properties = Field(default_factory=dict, description="Texts for recipients.")
    schemas: dict[SchemaName, SchemaEntry] = Field(default_factory=dict, description="Schemas by name.")
    source: CatalogSourceEntry | None = Field(
        default=None,
        alias="from",
        description="Share the schemas of a catalog; those in `schemas` replace schemas of their name.",
    )


class RecipientEntry(_Entry):
    """A recipient. The file declares all of its grants."""

    shares: tuple[str, ...] = Field(default=(), description="Names of the shares that it can read.")
    comment: Comment | None = Field(default=None, description="For people.")
    token_lifetime: TokenLifetime | None = Field(
        default=None, description="How long its tokens are valid, such as 90d; at most 365 days."
    )
    allow_from: tuple[NetworkText, ...] = Field(
        default=(),
        description="Networks that it can connect from, such as 203.0.113.0/24; all if empty.",
    )
    properties: Properties = Field(default_factory=dict, description="Texts for filters and policies.")


class Declaration(_Entry):
    """The content of a shares file."""

    shares: dict[ShareName, ShareEntry] = Field(default_factory=dict, description="Shares by name.")
    recipients: dict[RecipientName, RecipientEntry] = Field(
        default_factory=dict, description="Recipients by name."
    )
