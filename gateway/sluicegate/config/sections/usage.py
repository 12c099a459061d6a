"""The section `usage`: where the tables of usage are, which `COLLECT_USAGE` writes."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from sluicegate.config.model import SettingsModel


def _directory(value: str) -> str:
    parts = urlsplit(value)
    if not parts.scheme or not parts.path.strip("/"):
        raise ValueError("expected the location of a directory, such as s3://usage/tables")
    return value.rstrip("/")


class UsageSettings(SettingsModel):
    """The tables of usage, which `sluicegate usage --reads` reads."""

    location: Annotated[str, AfterValidator(_directory)] | None = Field(
        default=None,
        description="Directory of the tables of usage, as in the section `usage` of the executor that "
        "runs `COLLECT_USAGE`. A configured storage must serve it. If it is not set, the gateway "
        "reports only what recipients were offered.",
        examples=["s3://usage/tables"],
    )
