"""The caches."""

from __future__ import annotations

from pydantic import Field

from sluicegate._util.units import ByteSize
from sluicegate.config.model import SettingsModel


class CacheSettings(SettingsModel):
    """The caches in memory."""

    snapshots: ByteSize = Field(
        default=256_000_000,
        ge=0,
        description="Memory for the snapshots of tables. What they leave of it is for the parts of "
        "answers that depend only on the snapshot.",
    )
    commits: ByteSize = Field(
        default=64_000_000,
        ge=0,
        description="Memory for commits, which streams and change data feeds read.",
    )
    answers: ByteSize = Field(
        default=64_000_000,
        ge=0,
        description="Memory for answers to queries, which the same recipient gets again for a tenth of "
        "the lifetime of their URLs, at most 5 minutes. 0 signs URLs for each request.",
    )
    share_answers: bool = Field(
        default=False,
        description="Give the same answer to all recipients who see the same. The access logs of the "
        "storage then no longer show which of them reads a file.",
    )
