"""The section `limits`: how much requests can send, and how much tables can consume."""

from __future__ import annotations

from pydantic import Field

from sluicegate._util.units import ByteSize, Duration
from sluicegate.config.model import SettingsModel


class RequestBodySettings(SettingsModel):
    """The longest bodies of requests, for all applications. Longer ones fail with 413."""

    sharing: ByteSize = Field(
        default=2_000_000,
        ge=1,
        description="Longest request of a recipient, to Delta Sharing or to the Iceberg catalog.",
    )
    delegation: ByteSize = Field(
        default=1_000_000,
        ge=1,
        description="Longest payload of a task. Increase it for catalogs that send the metadata of "
        "tables with very many snapshots.",
    )
    oauth: ByteSize = Field(
        default=16_384,
        ge=1_024,
        description="Longest request for an OAuth access token, to the gateway or to the delegation "
        "service.",
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


class LimitSettings(SettingsModel):
    """Limits of request bodies and of tables' metadata."""

    request_body: RequestBodySettings = Field(
        default=RequestBodySettings(),
        description="The longest bodies of requests. Longer ones fail with 413.",
    )
    table: TableLimitSettings = Field(
        default=TableLimitSettings(), description="Limits for reading the metadata of one table."
    )
