"""The executor's section `materialized`: which copies exist, and what they contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from sluicegate.api import Duration, InvalidRequest, PluginConfig, comparable_location, conditions
from sluicegate_spark.copies.column_rules import ColumnRule, RuleValue, parse_rule
from sluicegate_spark.payload_config import FileIo

MATERIALIZED = "materialized"
"""The `catalog_name` of tasks of copies, whose tables are those of the configuration."""

_DAY = 86_400
_KEY_LENGTH = 32
# Parts of a name become directories.
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]*"


def _key(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < _KEY_LENGTH:
        raise ValueError(
            f"expected at least {_KEY_LENGTH} characters; to generate a key: openssl rand -hex 32"
        )
    return value


def _location(value: str) -> str:
    try:
        comparable_location(value)
    except InvalidRequest as error:
        raise ValueError(error.message) from None
    return value.rstrip("/")


def _condition(text: str) -> str:
    try:
        conditions.parse_condition(text)
    except InvalidRequest as error:
        raise ValueError(error.message) from None
    return text


def _rule(value: RuleValue) -> RuleValue:
    parse_rule(value)
    return value


def _table_name(text: str) -> str:
    if "." not in text or not all(text.split(".")):
        raise ValueError("expected NAMESPACE.TABLE, such as sales.orders")
    return text


Location = Annotated[str, AfterValidator(_location)]
Column = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^`\x00-\x1f]+$")]
PropertyName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,255}$")]
CopyName = Annotated[str, StringConstraints(pattern=rf"^{_NAME}\.{_NAME}$", max_length=255)]
SourceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


class SourceConfig(PluginConfig):
    """A table that a copy is made from: an Iceberg table of a catalog, or a Delta table."""

    catalog: str | None = Field(
        default=None, min_length=1, description="Name in `catalogs` of the table's catalog (Iceberg)."
    )
    table: Annotated[str, AfterValidator(_table_name)] | None = Field(
        default=None, description="The table in that catalog: `NAMESPACE.TABLE`."
    )
    location: Location | None = Field(default=None, description="Directory of a Delta table.")

    @model_validator(mode="after")
    def _is_one_table(self) -> Self:
        if (self.catalog is None) != (self.table is None) or (
            (self.catalog is None) == (self.location is None)
        ):
            raise ValueError("set either catalog and table (Iceberg), or location (Delta)")
        return self


class CopyConfig(PluginConfig):
    """A copy of a table, or the result of a query."""

    source: SourceConfig | None = Field(
        default=None, description="The table to copy. Required, unless `query` is set."
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=1 << 16,
        description="One `SELECT` over the tables in `sources`, instead of `source`.",
    )
    sources: Mapping[SourceName, SourceConfig] = Field(
        default_factory=dict, description="The tables of `query`, by their names in it."
    )
    rows: Annotated[str, AfterValidator(_condition)] | None = Field(
        default=None,
        description="Share only rows that match this condition, such as `status <> 'draft'`.",
    )
    recipient_columns: Mapping[Column, PropertyName] = Field(
        default_factory=dict,
        description="Share with each recipient only rows whose column equals a property of the "
        "recipient: `{country: country}`. The copy is partitioned by these columns.",
    )
    columns: Mapping[Column, Annotated[RuleValue, AfterValidator(_rule)]] = Field(
        default_factory=dict,
        description="What recipients see of a column: `share`, `hide`, `hash`, `null`, "
        "`{truncate: LENGTH}`, or `{expression: SQL}`.",
    )
    other_columns: Literal["share", "hide"] = Field(
        default="share",
        description="What recipients see of columns that `columns` does not name, including columns "
        "that are added later.",
    )
    cluster_by: tuple[Column, ...] = Field(
        default=(), description="Columns by which recipients filter. Files contain ranges of them."
    )
    retention: Duration = Field(
        default=_DAY,
        ge=0,
        description="How long files of earlier versions are kept. The first refresh after this time "
        "deletes them. Presigned URLs must expire earlier.",
    )

    @property
    def tables(self) -> Mapping[str, SourceConfig]:
        """The sources by name; the name of a single `source` is empty."""
        return self.sources if self.source is None else {"": self.source}

    @property
    def catalog(self) -> str | None:
        """The catalog of its Iceberg tables."""
        return next((each.catalog for each in self.tables.values() if each.catalog), None)

    def rule(self, column: str) -> ColumnRule:
        """Return what recipients see of a column. Names are not case-sensitive."""
        for name, value in self.columns.items():
            if name.casefold() == column.casefold():
                return parse_rule(value)
        return ColumnRule(self.other_columns)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.source is None) == (self.query is None):
            raise ValueError("set either source, or query and sources")
        if (self.query is None) != (not self.sources):
            raise ValueError("query and sources belong together: set both")
        if len({each.catalog for each in self.tables.values() if each.catalog}) > 1:
            raise ValueError("all Iceberg tables of a query must be in the same catalog")
        _refuse_repeated(self.columns, "columns")
        _refuse_repeated([*self.recipient_columns], "recipient_columns")
        _refuse_repeated(self.sources, "sources")
        for column in self.recipient_columns:
            if self.rule(column).kind != "share":
                raise ValueError(
                    f"recipient_columns: recipients see the column '{column}', because the copy is "
                    "partitioned by it, so columns must share it unchanged"
                )
        return self


def _refuse_repeated(names: Mapping[str, object] | Sequence[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise ValueError(f"{place}: '{name}' is there twice; names are not case-sensitive")
        seen.add(name.casefold())


class MaterializedConfig(PluginConfig):
    """Copies that contain only what recipients can see."""

    location: Location = Field(
        description="Directory in which the copies are, each in a directory of its name."
    )
    key: Annotated[SecretStr, AfterValidator(_key)] = Field(
        description="Secret with which the rule `hash` replaces values: at least 32 characters. If it "
        "changes, all copies are written again."
    )
    file_io: FileIo = Field(
        default_factory=dict,
        description="Credentials for the copies, and for the Delta tables that they are made from: "
        "`s3.access-key-id`, `s3.secret-access-key`, and similar keys. Not needed for `file://`.",
    )
    tables: Mapping[CopyName, CopyConfig] = Field(
        default_factory=dict, description="The copies by name: `NAMESPACE.TABLE`."
    )

    @model_validator(mode="after")
    def _is_apart(self) -> Self:
        for name, copy in self.tables.items():
            for source in copy.tables.values():
                if source.location is not None and overlaps(source.location, self.directory(name)):
                    raise ValueError(
                        f"tables.{name}: the directory of the copy, {self.directory(name)}, and that "
                        f"of its source, {source.location}, must not contain each other"
                    )
        return self

    def directory(self, name: str) -> str:
        """Return the directory of a copy.

        The name of a copy with `recipient_columns` shows the gateway that it contains rows of several
        recipients.
        """
        suffix = BY_RECIPIENT if self.tables[name].recipient_columns else ""
        return f"{self.location}/{'/'.join(name.split('.'))}{suffix}"


BY_RECIPIENT = ".by-recipient"
"""End of the location of a table that the gateway shares only with a partition filter."""


def overlaps(one: str, other: str) -> bool:
    """Return whether one of two directories contains the other, or is the other."""
    try:
        first, second = comparable_location(one), comparable_location(other)
    except InvalidRequest:
        return True
    return first.startswith(second) or second.startswith(first)


def recipient_filter(copy: CopyConfig) -> str | None:
    """Return the partition filter with which a copy must be shared, or `None` if it needs none."""
    terms = [f"`{column}` = recipient.{name}" for column, name in copy.recipient_columns.items()]
    return " AND ".join(terms) or None
