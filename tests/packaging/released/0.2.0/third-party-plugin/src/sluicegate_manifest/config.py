"""Configuration of the catalog type `manifest`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from sluicegate.api import CatalogConfig

SUFFIXES = (".csv", ".yaml", ".yml")


class ManifestConfig(CatalogConfig):
    """Tables that a file lists by schema, name and location."""

    file: Path = Field(
        description="The manifest, a CSV or YAML file; relative to the working directory.",
        examples=["tables.csv"],
    )
    format: str = Field(default="delta", min_length=1, description="Format of the tables.")

    @field_validator("file")
    @classmethod
    def _has_a_known_suffix(cls, file: Path) -> Path:
        if file.suffix not in SUFFIXES:
            raise ValueError(f"the manifest's suffix must be one of {', '.join(SUFFIXES)}")
        return file
