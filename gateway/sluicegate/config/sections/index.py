"""The section `index`: where snapshot indexes of large tables are."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from sluicegate._util.units import ByteSize
from sluicegate.config.model import SettingsModel


def _location(value: str) -> str:
    parts = urlsplit(value)
    if not parts.scheme or not parts.path.strip("/"):
        raise ValueError("expected the location of a folder, such as file:///var/lib/sluicegate/index/")
    return value.rstrip("/")


class IndexSettings(SettingsModel):
    """Snapshot indexes, which make queries of tables with millions of files cheap."""

    location: Annotated[str, AfterValidator(_location)] | None = Field(
        default=None,
        description="Folder that contains the indexes, which `sluicegate index build` writes: a local "
        "one (`file:///…`), or one in a configured storage. Use a folder that no table is in. If it is "
        "not set, tables are read from their logs only.",
        examples=["file:///var/lib/sluicegate/index/"],
    )
    min_files: int = Field(
        default=2_000_000,
        ge=0,
        description="Tables with fewer files are read from their logs, even if they have an index.",
    )
    memory: ByteSize = Field(
        default=64_000_000,
        ge=1_000_000,
        description="Memory for what is kept of opened indexes: about 50 kB for each million files, "
        "plus the partitions, and the files that changed since the index was written.",
    )
