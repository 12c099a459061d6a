"""Configuration of the catalog type `paths`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from sluicegate.api import CatalogConfig, Duration
from sluicegate_paths.locations import normalised


class PathsConfig(CatalogConfig):
    """Tables named by their own location, without any catalog service."""

    max_age: Duration = Field(
        default=0,
        ge=0,
        description="How long a listing is given without looking again. A table's location is never "
        "asked for, so a new folder is seen at once by default.",
    )
    stale_while_revalidate: Duration = Field(
        default=0, ge=0, description="How long beyond `max_age` it is given while the store is asked."
    )
    schemas: Mapping[str, Annotated[str, AfterValidator(normalised)]] = Field(
        default_factory=dict,
        description="Folders to list as schemas: each sub-folder with a `_delta_log` is a table. "
        "Tables need no schema here to be shared one by one, by their location.",
        examples=[{"eu": "s3://lake/eu/"}],
    )
