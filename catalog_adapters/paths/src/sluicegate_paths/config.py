"""Configuration of the catalog type `paths`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from sluicegate.api import CatalogConfig, Duration
from sluicegate_paths.folders import SchemaFolders
from sluicegate_paths.locations import normalised


def _checked(schemas: Mapping[str, str]) -> Mapping[str, str]:
    for name, location in schemas.items():
        SchemaFolders.parse(name, location)
    return schemas


class PathsConfig(CatalogConfig):
    """Tables named by their own location, without any catalog service."""

    max_age: Duration = Field(
        default=0,
        ge=0,
        description="How long a listing, or what was found at a location, is given without looking "
        "again; by default a new folder is seen at once. Delta tables are looked up once in five "
        "minutes in any case.",
    )
    stale_while_revalidate: Duration = Field(
        default=0, ge=0, description="How long beyond `max_age` it is given while the store is asked."
    )
    schemas: Annotated[
        Mapping[str, Annotated[str, AfterValidator(normalised)]], AfterValidator(_checked)
    ] = Field(
        default_factory=dict,
        description="Folders to list as schemas: each sub-folder with a `_delta_log` or Iceberg "
        "`metadata` is a table. A `*` in name and location makes each folder a schema. Tables need no "
        "schema here to be shared one by one, by their location.",
        examples=[{"eu": "s3://lake/eu/"}, {"*": "s3://lake/*/"}],
    )
