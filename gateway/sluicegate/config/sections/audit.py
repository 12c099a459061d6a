"""The section `audit`: the audit log, and where it is stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from sluicegate._util.units import ByteSize, Duration
from sluicegate.config.model import SettingsModel, SigningKey

AuditMode = Literal["required", "best_effort", "off"]


class DatabaseSinkSettings(SettingsModel):
    """Stores the audit log in the gateway's database."""

    type: Literal["database"] = Field(description="`database`.")


class FileSinkSettings(SettingsModel):
    """Stores the audit log in files, as lines of JSON."""

    type: Literal["file"] = Field(description="`file`.")
    path: str = Field(
        description="Directory of the files, which the gateway creates. Each process has its own files."
    )
    max_size: ByteSize = Field(
        default=100_000_000,
        ge=100_000,
        description="Size at which a process starts another file.",
    )
    keep: int = Field(
        default=100,
        ge=1,
        description="Number of full files that each process keeps. It deletes the oldest files when "
        "all together are larger, even if their records are younger than `retention`.",
    )


class EventSinkSettings(SettingsModel):
    """Sends each record as an event to plugins. Records that a plugin can't process are lost."""

    type: Literal["events"] = Field(description="`events`.")


SinkSettings = Annotated[
    DatabaseSinkSettings | FileSinkSettings | EventSinkSettings, Field(discriminator="type")
]


def _sinks(sinks: tuple[SinkSettings, ...]) -> tuple[SinkSettings, ...]:
    types = [sink.type for sink in sinks if sink.type != "file"]
    paths = [sink.path for sink in sinks if sink.type == "file"]
    if len({*types}) < len(types):
        raise ValueError("a sink of this type can occur only once")
    if len({*paths}) < len(paths):
        raise ValueError("each file sink needs its own path")
    if all(sink.type == "events" for sink in sinks):
        raise ValueError("expected a sink of type database or file; to turn the log off: audit: off")
    return sinks


class AuditSettings(SettingsModel):
    """The audit log of all decisions."""

    mode: AuditMode = Field(
        default="required",
        description="`required`: a request fails if its record can't be stored. `best_effort`: "
        "requests don't wait, and records can be lost. `off`: nothing is recorded.",
    )
    retention: Duration = Field(
        default=400 * 86_400, ge=86_400, description="How long records are stored."
    )
    sinks: Annotated[tuple[SinkSettings, ...], AfterValidator(_sinks)] = Field(
        default=(DatabaseSinkSettings(type="database"),),
        description="Where records are stored: by default, in the database. Each sink has its own "
        "hash chain.",
    )
    former_keys: tuple[SigningKey, ...] = Field(
        default=(),
        description="Former values of `signing_key`, which only verify records that they sealed. Keep "
        "them here when you remove them from `previous_signing_keys`.",
    )


def _section(value: Any) -> Any:
    if value is False:  # `off` of YAML 1.1
        return {"mode": "off"}
    return {"mode": value} if isinstance(value, str) else value


AuditSection = Annotated[AuditSettings, BeforeValidator(_section)]
"""The section, or only its mode."""
