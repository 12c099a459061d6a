"""The shares file: what is shared, and with whom, as models.

Names follow delta-sharing-protocol.md, "Names"; the lengths of comments and properties follow its notes
on `List Shares`.
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sluicegate.access.directory_limits import directory_obstacle
from sluicegate.access.partition_filter import PartitionFilter
from sluicegate.config.model import TokenLifetime
from sluicegate.nouns import AccessMode
from sluicegate.store.names import NamedKind, check_name

_MAX_VERSION = 2**63 - 1


def _storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("texts cannot hold a NUL character or half of a surrogate pair")
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


def _in_one_order(modes: tuple[AccessMode, ...]) -> tuple[AccessMode, ...]:
    if not modes:
        raise ValueError("expected url, dir or both")
    return tuple(mode for mode in get_args(AccessMode) if mode in modes)


_STORABLE = AfterValidator(_storable)

Comment = Annotated[str, StringConstraints(max_length=65_536), _STORABLE]
DisplayName = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyKey = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyValue = Annotated[str, StringConstraints(max_length=1000), _STORABLE]
Properties = Annotated[dict[PropertyKey, PropertyValue], Field(max_length=50)]
Required = Annotated[str, StringConstraints(min_length=1), _STORABLE]
FilterText = Annotated[str, _STORABLE, AfterValidator(_filter)]
AccessModes = Annotated[tuple[AccessMode, ...], AfterValidator(_in_one_order)]
ShareName = Annotated[str, _named("share")]
SchemaName = Annotated[str, _named("schema")]
TableName = Annotated[str, _named("table")]
RecipientName = Annotated[str, _named("recipient")]
NetworkText = Annotated[str, AfterValidator(_network)]
Patterns = tuple[Required, ...]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableOptions(_Entry):
    """How a table is shared, or each table of a schema."""

    comment: Comment | None = Field(default=None, description="For recipients.")
    history: bool = Field(default=False, description="Share time travel, streaming and change feeds.")
    change_feed: bool = Field(default=False, description="Share `/changes`; needs `history`.")
    start_version: int = Field(
        default=0, ge=0, le=_MAX_VERSION, description="Nothing older can be reached."
    )
    partition_filter: FilterText | None = Field(
        default=None, description="Only these partitions: `country = recipient.country`."
    )
    access_modes: AccessModes = Field(
        default=("url",), description="Presigned URLs, temporary directory credentials, or both."
    )

    @model_validator(mode="after")
    def _can_be_honoured(self) -> Self:
        if self.change_feed and not self.history:
            raise ValueError("change_feed needs history: true")
        if "dir" in self.access_modes and (obstacle := directory_obstacle(self)):
            raise ValueError(obstacle)
        return self


class TableEntry(TableOptions):
    """A table that is shared, and where it comes from."""

    catalog: str = Field(description="Name of a configured catalog.")
    table: Required = Field(description="The table's name in that catalog; for `paths` its location.")


class SchemaSourceEntry(TableOptions):
    """A catalog's schema that is shared whole: its tables are those it holds at each request.

    The options are those of every table in it.
    """

    catalog: str = Field(description="Name of a configured catalog.")
    schema_: Required = Field(alias="schema", description="The schema's name in that catalog.")
    include: Patterns = Field(default=("*",), description="Names of tables to share, `*` for any text.")
    exclude: Patterns = Field(default=(), description="Names of tables not to share.")


class SchemaEntry(_Entry):
    """A schema of a share: tables one by one, or a catalog's schema whole."""

    comment: Comment | None = Field(default=None, description="For people.")
    tables: dict[TableName, TableEntry] = Field(default_factory=dict, description="Tables by name.")
    source: SchemaSourceEntry | None = Field(
        default=None, alias="from", description="Share a catalog's schema whole, instead of `tables`."
    )

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if self.source and self.tables:
            raise ValueError("a schema has either tables or from, not both")
        return self


class ShareEntry(_Entry):
    """A share: what is in the file is all that is in it."""

    display_name: DisplayName | None = Field(default=None, description="Shown instead of the name.")
    comment: Comment | None = Field(default=None, description="For recipients.")
    properties: Properties = Field(default_factory=dict, description="Texts for recipients.")
    schemas: dict[SchemaName, SchemaEntry] = Field(default_factory=dict, description="Schemas by name.")


class RecipientEntry(_Entry):
    """A recipient: the shares in the file are all that it is granted."""

    shares: tuple[str, ...] = Field(default=(), description="Names of the shares that it may read.")
    comment: Comment | None = Field(default=None, description="For people.")
    token_lifetime: TokenLifetime | None = Field(
        default=None, description="How long its tokens are valid, like 90d; 365 days at most."
    )
    allow_from: tuple[NetworkText, ...] = Field(
        default=(), description="Networks that it may call from, like 203.0.113.0/24; none: any."
    )
    properties: Properties = Field(default_factory=dict, description="Texts for filters and policies.")


class Declaration(_Entry):
    """The whole of a shares file."""

    shares: dict[ShareName, ShareEntry] = Field(default_factory=dict, description="Shares by name.")
    recipients: dict[RecipientName, RecipientEntry] = Field(
        default_factory=dict, description="Recipients by name."
    )
