"""Configuration of COLLECT_USAGE: the logs that it reads, and where its tables are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import InvalidRequest, PluginConfig, comparable_location
from sluicegate_spark.payload_config import FileIo

_BUCKET = re.compile(r"s3://[A-Za-z0-9][A-Za-z0-9._-]{0,254}/.*")


def _directory(value: str) -> str:
    """Return a directory in a bucket, without a trailing slash."""
    try:
        found = comparable_location(value)
    except InvalidRequest as error:
        raise ValueError(error.message) from None
    if not _BUCKET.fullmatch(found):
        raise ValueError("expected a directory in a bucket, such as s3://usage/tables")
    return found.rstrip("/")


Directory = Annotated[str, AfterValidator(_directory)]


class UsageConfig(PluginConfig):
    """The tables of usage, and the access logs that they are made from."""

    removed_keys: ClassVar[Mapping[str, str]] = {
        "late_after": "one day",
        "files_per_batch": "10,000 files",
    }

    location: Directory = Field(
        description="Directory of the tables, such as `s3://usage/tables`, without any logs."
    )
    access_logs: tuple[Directory, ...] = Field(
        default=(),
        max_length=100,
        description="Directories with server access logs in the format of Amazon S3. All files below "
        "them are read.",
    )
    file_io: FileIo = Field(
        default_factory=dict,
        description="Credentials for all of these directories: `s3.access-key-id`, "
        "`s3.secret-access-key`, and similar keys.",
    )

    @model_validator(mode="after")
    def _refuse_logs_among_tables(self) -> Self:
        tables = f"{self.location}/"
        for each in self.access_logs:
            if tables.startswith(f"{each}/") or f"{each}/".startswith(tables):
                raise ValueError("location and access_logs must not contain each other")
        return self
