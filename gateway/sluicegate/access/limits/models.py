"""The limits of a recipient: those of the shares file, and the defaults of `gateway.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from sluicegate._util.units import ByteSize
from sluicegate.access.limits.bucket import Rate
from sluicegate.config.model import SettingsModel
from sluicegate.config.sections.limits import LARGEST_LIMIT, QuotaSettings

UNLIMITED = "unlimited"

_Unlimited = Literal["unlimited"]
_Count = Annotated[int, Field(ge=1, le=LARGEST_LIMIT)]
_Bytes = Annotated[ByteSize, Field(ge=1, le=LARGEST_LIMIT)]


class LimitsEntry(SettingsModel):
    """The limits of a recipient in the shares file. Those that are left out are the defaults."""

    requests_per_minute: _Count | _Unlimited | None = Field(
        default=None, description="Requests in a minute, or `unlimited`."
    )
    burst: _Count | None = Field(
        default=None,
        description="Requests that it can send at once; by default, those of a minute.",
    )
    concurrent_requests: _Count | None = Field(
        default=None,
        description="Concurrent requests, instead of `server.max_requests_per_recipient`.",
    )
    files_per_day: _Count | _Unlimited | None = Field(
        default=None, description="Data files that it is offered in a day (UTC), or `unlimited`."
    )
    bytes_per_day: _Bytes | _Unlimited | None = Field(
        default=None,
        description="Bytes of the data files that it is offered in a day (UTC), or `unlimited`.",
    )

    def stored(self) -> dict[str, Any] | None:
        """The values for the database; `None` if there are none."""
        return self.model_dump(exclude_none=True) or None


@dataclass(frozen=True, slots=True)
class RecipientLimits:
    """The limits that apply to a recipient; `None` for each that doesn't.

    Attributes:
        bytes_per_day: Bytes of these.
    """

    rate: Rate | None = None
    concurrent_requests: int | None = None
    files_per_day: int | None = None
    bytes_per_day: int | None = None

    @property
    def daily(self) -> bool:
        """Whether there is a limit for a day."""
        return self.files_per_day is not None or self.bytes_per_day is not None

    @classmethod
    def default(cls, settings: QuotaSettings) -> RecipientLimits:
        """The limits of recipients that have none in the shares file, or of an address."""
        return cls.of(settings, {})

    @classmethod
    def of(cls, settings: QuotaSettings, own: Mapping[str, Any]) -> RecipientLimits:
        """The limits of a recipient."""

        def limit(name: str) -> int | None:
            value = own.get(name, getattr(settings, name))
            return None if value == UNLIMITED else value

        per_minute = limit("requests_per_minute")
        # The default burst belongs to the default rate.
        burst = own.get("burst") or (None if "requests_per_minute" in own else settings.burst)
        return cls(
            rate=None if per_minute is None else Rate(per_minute, burst or per_minute),
            concurrent_requests=own.get("concurrent_requests"),
            files_per_day=limit("files_per_day"),
            bytes_per_day=limit("bytes_per_day"),
        )
