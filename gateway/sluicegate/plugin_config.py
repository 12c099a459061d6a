"""Bases of the configuration models of plugins. Plugins get them from `api`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from sluicegate.units import Duration


class PluginConfig(BaseModel):
    """Base of a plugin's configuration model: frozen, unknown keys refused, secrets as `SecretStr`.

    Each field carries its description and default: the reference page and schema are made from them.
    """

    # A refused value may be a secret, so messages never repeat it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class CatalogConfig(PluginConfig):
    """Base of a catalog plugin's configuration: how its answers are kept, and how long it may take."""

    max_age: Duration = Field(
        default=10,
        ge=0,
        description="How long what the catalog said of a table or a listing is given without asking "
        "again. Credentials are never kept by this.",
    )
    stale_while_revalidate: Duration = Field(
        default=60,
        ge=0,
        description="How long beyond `max_age` it is still given while the catalog is asked anew, also "
        "when the catalog is down. Not for tables whose latest state the catalog alone knows "
        "(Iceberg, catalog-managed Delta).",
    )
    timeout: Duration = Field(
        default=15, ge=1, description="How long a request waits for one answer of the catalog."
    )
    max_concurrency: int = Field(
        default=16, ge=1, description="Questions that the catalog is asked at the same time."
    )


class StorageConfig(PluginConfig):
    """Base of a storage plugin's configuration: which locations the instance serves."""

    prefix: str
    absolute_paths: tuple[str, ...] = Field(
        default=(),
        description="Directories below `prefix` whose files the log of any shared table may name by "
        "absolute paths, as those of shallow clones do. A table's own directories need no entry.",
    )
