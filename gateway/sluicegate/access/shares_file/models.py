"""Models of the shares file, which declares shares, recipients, and grants."""

from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sluicegate.access.directory_access import options_obstacle, ref_obstacle
from sluicegate.access.limits.models import LimitsEntry
from sluicegate.access.shares_file.values import (
    MAX_VERSION,
    AccessModes,
    Alias,
    CatalogName,
    Comment,
    DisplayName,
    FilterText,
    ModelName,
    NetworkText,
    Patterns,
    Properties,
    RecipientName,
    Required,
    SchemaName,
    SharedKinds,
    ShareName,
    SkillName,
    TableName,
    Tags,
    VersionAlias,
    VersionNumber,
    VolumeName,
)
from sluicegate.api.assets.models import AssetKind
from sluicegate.config.model import TokenLifetime


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableOptions(_Entry):
    """Options of a shared table, or of all tables of a shared schema."""

    comment: Comment | None = Field(default=None, description="For recipients.")
    history: bool = Field(default=False, description="Share time travel, streaming and change feeds.")
    change_feed: bool = Field(default=False, description="Share `/changes`; needs `history`.")
    start_version: int = Field(
        default=0, ge=0, le=MAX_VERSION, description="Earliest version that recipients can read."
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
    tags: Tags = Field(default_factory=dict)

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
    tags: Tags = Field(default_factory=dict)

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
    tags: Tags = Field(default_factory=dict)
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
    tags: Tags = Field(default_factory=dict)
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
    limits: LimitsEntry = Field(default=LimitsEntry(), description="Instead of the gateway's limits.")


class Declaration(_Entry):
    """The content of a shares file."""

    shares: dict[ShareName, ShareEntry] = Field(default_factory=dict, description="Shares by name.")
    recipients: dict[RecipientName, RecipientEntry] = Field(
        default_factory=dict, description="Recipients by name."
    )
