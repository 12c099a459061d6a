"""Checks and their results. All checks run concurrently, each with its own time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sluicegate._util.printable import printable
from sluicegate.cli.doctor.failures import failure_text

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
