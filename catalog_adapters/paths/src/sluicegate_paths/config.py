"""Configuration of the catalog type `paths`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from sluicegate.api import CatalogConfig, Duration
from sluicegate_paths.folders import SchemaFolders, normalised


def _checked(schemas: Mapping[str, str]) -> Mapping[str, str]:
    for name, location in schemas.items():
        SchemaFolders.parse(name, location)
    return schemas


class PathsConfig(CatalogConfig):
    """Tables named by their own location, without a catalog service."""

    max_age: Duration = Field(
        default=0,
        ge=0,
        description="How long a listing, or the format found at a location, is cached. By default, a "
        "new folder is visible immediately. Delta tables are always cached for five "
        "minutes.",
    )
    stale_while_revalidate: Duration = Field(
        default=0,
        ge=0,
        description="How long after `max_age` it can still be used while the store is queried.",
    )
    schemas: Annotated[
        Mapping[str, Annotated[str, AfterValidator(normalised)]], AfterValidator(_checked)
    ] = Field(
        default_factory=dict,
        description="Folders to list as schemas: each subfolder with a `_delta_log` or Iceberg "
        "`metadata` is a table. A `*` in name and location makes each folder a schema. "
        "To share single tables by location, no schema is needed.",
        examples=[{"eu": "s3://lake/eu/"}, {"*": "s3://lake/*/"}],
    )
