"""Parts of a page that can fail or take too long without the rest of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import as_sluicegate_error
from sluicegate.telemetry.context import request_id

T = TypeVar("T")

SECONDS = 8.0
"""How long a page waits for catalogs, stores and policies, before it shows the rest without them."""


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """A part of a page: its content, or why there is none.

    Attributes:
        value: The content; `None` if there is a problem.
    """

    value: T | None = None
    problem: str | None = None


async def section(work: Awaitable[T], seconds: float = SECONDS) -> Section[T]:
    """The result of some work, or the reason why there is none in time."""
    try:
        async with asyncio.timeout(seconds):
            return Section(await work)
    except TimeoutError:
        return Section(problem=f"no response within {seconds:g} seconds; load the page again")
    except SluicegateError as error:
        return Section(problem=error.message)
    except Exception as error:
        as_sluicegate_error(error)  # only for the line in the log: its message is for recipients
        return Section(
            problem=f"an internal error occurred; the gateway's log has request_id={request_id()}"
        )
