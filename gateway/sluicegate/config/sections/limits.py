"""The section `limits`: what requests can send, tables can consume, and recipients can get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from sluicegate._util.units import ByteSize, Duration
from sluicegate.api.budget import TableLimits
from sluicegate.config.model import SettingsModel

LARGEST_LIMIT = 10**15 - 1
"""Files or bytes: the largest number in headers (RFC 9651, section 3.3.1)."""

_Count = Annotated[int, Field(ge=1, le=LARGEST_LIMIT)]
_Bytes = Annotated[ByteSize, Field(ge=1, le=LARGEST_LIMIT)]


class RequestBodySettings(SettingsModel):
    """The longest bodies of requests, for all applications. Longer ones fail with 413."""

    removed_keys: ClassVar[Mapping[str, str]] = {"oauth": "16 KiB"}

    sharing: ByteSize = Field(
        default=2_000_000,
        ge=1,
        description="Longest request of a recipient, to Delta Sharing, to the Iceberg catalog, or to a "
        "route of a plugin.",
    )
    delegation: ByteSize = Field(
        default=1_000_000,
        ge=1,
        description="Longest payload of a task. Increase it for catalogs that send the metadata of "
        "tables with very many snapshots.",
    )


class TableLimitSettings(SettingsModel):
    """Limits for reading the metadata of one table. A table that exceeds them is not served."""

    bytes: ByteSize = Field(
        default=4_000_000_000,
        ge=1_000_000,
        description="Bytes of logs, checkpoints and manifests, after decompression.",
    )
    rows: int = Field(
        default=10_000_000,
        ge=1_000,
        description="Entries in these files, such as added and removed files.",
    )
    time: Duration = Field(default=120, ge=1, description="Maximum time for reading.")

    @property
    def limits(self) -> TableLimits:
        """The limits of one read."""
        return TableLimits(bytes=self.bytes, rows=self.rows, seconds=self.time)


class RateSettings(SettingsModel):
    """A rate of requests. Further ones fail with 429."""

    requests_per_minute: _Count | None = Field(
        default=None,
        description="Requests in a minute, in the long run, for each process. Unlimited if not set.",
    )
    burst: _Count | None = Field(
        default=None,
        description="Requests that can be sent at once after a pause; by default, those of a minute.",
    )

    @model_validator(mode="after")
    def _has_rate(self) -> Self:
        if self.burst is not None and self.requests_per_minute is None:
            raise ValueError("burst requires requests_per_minute")
        return self


class QuotaSettings(RateSettings):
    """A rate of requests, and what can be offered in a day."""

    files_per_day: _Count | None = Field(
        default=None,
        description="Data files whose URLs are sent in a day (UTC). Unlimited if not set.",
    )
    bytes_per_day: _Bytes | None = Field(
        default=None, description="Bytes of these data files in a day (UTC). Unlimited if not set."
    )


class RecipientLimitSettings(QuotaSettings):
    """Limits of each recipient, unless the shares file contains its own."""


class AddressLimitSettings(QuotaSettings):
    """Limits of each client address, for all of its recipients. IPv6 is counted by its /64."""

    concurrent_requests: _Count | None = Field(
        default=None,
        description="Requests in progress, authenticated or not, for each process. Unlimited if not "
        "set.",
    )


class LimitSettings(SettingsModel):
    """Limits of request bodies, of tables' metadata, of recipients, and of client addresses."""

    request_body: RequestBodySettings = Field(
        default=RequestBodySettings(),
        description="The longest bodies of requests. Longer ones fail with 413.",
    )
    table: TableLimitSettings = Field(
        default=TableLimitSettings(), description="Limits for reading the metadata of one table."
    )
    recipient: RecipientLimitSettings = Field(
        default=RecipientLimitSettings(),
        description="Limits of each recipient. The shares file can contain others for a recipient.",
    )
    address: AddressLimitSettings = Field(
        default=AddressLimitSettings(), description="Limits of each client address."
    )
