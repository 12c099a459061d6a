"""The section `delegation.schedules`: tasks that the delegation service submits itself."""

from __future__ import annotations

import re
from datetime import time
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate._util.units import Duration
from sluicegate.config.model import SettingsModel

_DAY = 86_400
_FIELDS = 5
_WINDOW = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")


def parse_window(text: str) -> tuple[time, time]:
    """Return the begin and the end of `22:00-04:00`.

    Raises:
        ValueError: The text is not a window.
    """
    found = _WINDOW.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError("expected two times of day, such as 22:00-04:00")
    begin, end = time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))
    if begin == end:
        raise ValueError("the window is empty: its begin and its end are the same time")
    return begin, end


def _window(text: str) -> str:
    parse_window(text)
    return text


def _cron(text: str) -> str:
    # Imported here, because most gateways have no schedules.
    from datetime import UTC, datetime

    from cronsim import CronSim, CronSimError

    if len(text.split()) != _FIELDS:
        raise ValueError(
            "expected five fields (minute, hour, day of the month, month, day of the week), such as "
            "'30 2 * * *'"
        )
    try:
        next(CronSim(text, datetime.now(UTC)))
    except CronSimError as error:
        field = str(error).removeprefix("Bad ").replace("-", " ")
        raise ValueError(f"the cron expression is not valid: look at its field '{field}'") from None
    except StopIteration:
        raise ValueError("the cron expression never matches: there is no such day") from None
    return text


def _time_zone(name: str) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone '{name[:64]}': expected a name of the IANA database, such as "
            "Europe/Berlin"
        ) from None
    return name


def _table_pattern(text: str) -> str:
    if not all(text.split(".")) or "." not in text:
        raise ValueError(
            "expected NAMESPACE.TABLE, such as sales.orders, sales.*, or *.events_*; write periods "
            "and percent signs in names as %2E and %25"
        )
    return text


ScheduleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
TablePattern = Annotated[
    str,
    StringConstraints(min_length=3, max_length=1024, pattern=r"^[^\x00-\x1f]+$"),
    AfterValidator(_table_pattern),
]


class ScheduleSettings(SettingsModel):
    """Tasks that the service submits by itself, at the times of a cron expression."""

    cron: Annotated[str, AfterValidator(_cron)] | None = Field(
        default=None,
        description="When it fires: minute, hour, day of the month, month, day of the week, such as "
        "`30 2 * * *`. Required, unless `after` is set.",
    )
    after: ScheduleName | None = Field(
        default=None,
        description="Instead of `cron`: it fires when all tasks of a firing of this other schedule "
        "have ended, for the tables whose tasks succeeded.",
    )
    time_zone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC",
        description="Time zone of `cron` and `window`, such as `Europe/Berlin`.",
    )
    operation: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] = Field(
        description="Operation of its tasks, such as `TABLE_COMPACTION`."
    )
    catalog: str = Field(min_length=1, description="Catalog of the executor that has the tables.")
    tables: tuple[TablePattern, ...] = Field(
        min_length=1,
        description="The tables: names such as `sales.orders`, entire namespaces such as `sales.*`, "
        "and patterns such as `*.events_*`.",
    )
    exclude: tuple[TablePattern, ...] = Field(
        default=(), description="Tables to leave out, in the same form."
    )
    listing_catalog: str | None = Field(
        default=None,
        description="Entry of `catalogs` that lists the tables for patterns. By default, the entry "
        "with the name of `catalog`.",
    )
    properties: dict[str, str] = Field(
        default_factory=dict, description="Properties of the operation. All values are strings."
    )
    realm: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        default=None, description="Realm of its tasks. By default, `delegation.realm`."
    )
    priority: int = Field(
        default=5, ge=1, le=9, description="Priority of its tasks: 1 is highest, 9 is lowest."
    )
    enabled: bool = Field(
        default=True, description="Whether it fires. It can be run by a command in any case."
    )
    window: Annotated[str, AfterValidator(_window)] | None = Field(
        default=None,
        description="Times of day between which its tasks can start, such as `22:00-04:00`. A task "
        "that did not start in this time fails. By default, tasks can start at any time.",
    )
    max_running: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of its tasks that run at the same time, on all workers together.",
    )
    max_tasks: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="Maximum number of tasks of a firing. The next firing continues after the last "
        "table.",
    )
    overlap: Literal["skip", "allow"] = Field(
        default="skip",
        description="What happens when it fires while tasks of an earlier firing are unfinished: "
        "`skip` submits no tasks; `allow` submits tasks for all tables that have no unfinished task.",
    )
    catch_up: Duration = Field(
        default=3600,
        le=7 * _DAY,
        description="How late it can fire if no service was running at the time. Of several missed "
        "times, only the latest counts.",
    )

    @model_validator(mode="after")
    def _fires(self) -> Self:
        if (self.cron is None) == (self.after is None):
            raise ValueError("set either cron or after")
        return self

    @property
    def listed_in(self) -> str:
        """The entry of `catalogs` that lists the tables for patterns."""
        return self.catalog if self.listing_catalog is None else self.listing_catalog
