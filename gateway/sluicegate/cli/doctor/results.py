"""Checks and their results. All checks run concurrently, each with its own time limit."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sluicegate._util.printable import printable
from sluicegate.api.clients.endpoints import without_queries
from sluicegate.api.errors import SluicegateError
from sluicegate.telemetry.redaction import redact

_LONGEST = 400
# Error responses of stores that speak the API of S3, and of Azure.
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,200})</Message>")


def failure_text(error: BaseException) -> str:
    """Return the reason in one line, without query strings and credentials."""
    from obstore.exceptions import BaseError

    if isinstance(error, SluicegateError):
        text = error.for_operators
    elif isinstance(error, BaseError):
        text = _of_store(str(error).partition("\n\nDebug source")[0])
    elif isinstance(error, OSError):
        text = error.strerror or type(error).__name__
    else:
        # Messages of errors that nobody expected can contain anything.
        text = f"unexpected {type(error).__name__}"
    return redact(without_queries(" ".join(text.split())))[:_LONGEST]


def _of_store(text: str) -> str:
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is None:
        return text
    return f"{code[1]}: {message[1]}" if message else code[1]


Status = Literal["ok", "warning", "failed", "skipped"]

_MOST_AT_ONCE = 16
_CANCEL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        remedy: What to do; empty if there is nothing to do.
    """

    status: Status
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check."""

    group: str
    name: str
    run: Callable[[], AsyncIterator[Finding]]
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A finding of a check, and the seconds from the start of the check until it."""

    group: str
    name: str
    status: Status
    message: str
    remedy: str
    seconds: float


async def run_checks(checks: Sequence[Check], timeout: float) -> list[CheckResult]:
    """Run all checks, and return their outcomes in the order of the checks."""
    slots = asyncio.Semaphore(_MOST_AT_ONCE)

    async def run(check: Check) -> list[CheckResult]:
        async with slots:
            return await _run(check, timeout)

    return [each for found in await asyncio.gather(*map(run, checks)) for each in found]


async def _run(check: Check, timeout: float) -> list[CheckResult]:
    start, found = time.monotonic(), list[CheckResult]()

    def add(finding: Finding) -> None:
        seconds = round(time.monotonic() - start, 3)
        message = printable(finding.message)
        found.append(
            CheckResult(check.group, check.name, finding.status, message, finding.remedy, seconds)
        )

    async def collect() -> None:
        async for finding in check.run():
            add(finding)

    task = asyncio.create_task(collect())
    done, _ = await asyncio.wait({task}, timeout=timeout)
    if not done:
        task.cancel()
        await asyncio.wait({task}, timeout=_CANCEL_SECONDS)
        add(Finding("failed", f"no result within {timeout:g} s", check.remedy))
    elif (error := task.exception()) is not None:
        add(Finding("failed", failure_text(error), check.remedy))
    return found
