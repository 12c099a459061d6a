"""Configuration of COLLECT_USAGE: the logs that it reads, and where its tables are."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import Duration, InvalidRequest, PluginConfig, comparable_location
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
    late_after: Duration = Field(
        default=86_400,
        ge=60,
        description="Lines are counted as late if their file was written this long after the request.",
    )
    files_per_batch: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="The largest number of log files that are read before their reads are stored.",
    )

    @model_validator(mode="after")
    def _refuse_logs_among_tables(self) -> Self:
        tables = f"{self.location}/"
        for each in self.access_logs:
            if tables.startswith(f"{each}/") or f"{each}/".startswith(tables):
                raise ValueError("location and access_logs must not contain each other")
        return self
