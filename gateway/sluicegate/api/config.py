"""Base classes for the configuration models of plugins, which import them from `api`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sluicegate._util.units import Duration


class PluginConfig(BaseModel):
    """Base of a plugin's configuration model. It is frozen, and unknown keys are errors.

    Declare secrets as `SecretStr`. The reference page and the schema are generated from the description
    and default of each field.

    Attributes:
        removed_keys: Former settings that are accepted without effect, and a description of the value
            that replaced each. The gateway warns of each that a configuration contains.
    """

    removed_keys: ClassVar[Mapping[str, str]] = {}

    # An invalid value can be a secret, so messages never contain it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class CatalogConfig(PluginConfig):
    """Base of a catalog plugin's configuration: caching of responses, timeout and concurrency."""

    max_age: Duration = Field(
        default=10,
        ge=0,
        description="How long responses of the catalog about tables and listings are cached. "
        "Credentials are never cached here.",
    )
    stale_while_revalidate: Duration = Field(
        default=60,
        ge=0,
        description="How long after `max_age` cached responses are used while they are requested "
        "again, even if the catalog is down. Doesn't apply to tables whose latest state only the "
        "catalog knows (Iceberg, catalog-managed Delta).",
    )
    timeout: Duration = Field(
        default=15, ge=1, description="How long a request waits for one response of the catalog."
    )
    max_concurrency: int = Field(
        default=16, ge=1, description="Maximum number of concurrent requests to the catalog."
    )


class StorageConfig(PluginConfig):
    """Base of a storage plugin's configuration: the locations that the instance serves."""

    prefix: str
    absolute_paths: tuple[str, ...] = Field(
        default=(),
        description="Directories below `prefix` with files to which logs of shared tables can refer by "
        "absolute paths, such as those of shallow clones. A table's own directories need no entry.",
    )
