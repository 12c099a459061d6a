"""Configuration of the catalog type `paths`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from sluicegate.api import PluginConfig
from sluicegate_paths.locations import normalised


class PathsConfig(PluginConfig):
    """Tables named by their own location, without any catalog service."""

    schemas: Mapping[str, Annotated[str, AfterValidator(normalised)]] = Field(
        default_factory=dict,
        description="Folders to list as schemas: each sub-folder with a `_delta_log` is a table. "
        "Tables need no schema here to be shared one by one, by their location.",
        examples=[{"eu": "s3://lake/eu/"}],
    )
