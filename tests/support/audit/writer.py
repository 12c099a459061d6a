"""A process that writes records, and prints the request id of each that is durable.

Arguments: the URL of the database, the first number, how many records (0 for no end), and the section
`audit` as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from support.audit.records import numbered, opened

from sluicegate.audit.records import AuditLog

_CLIENTS = 8
_TESTS = Path(__file__).parents[2]


async def start_writer(
    url: str, first: int, count: int = 0, audit: object = None
) -> asyncio.subprocess.Process:
    """Start this process."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.audit.writer", url, str(first), str(count)),
        json.dumps(audit),
        cwd=_TESTS,
        stdout=asyncio.subprocess.PIPE,
    )


async def _write(log: AuditLog, numbers: Iterator[int]) -> None:
    for number in numbers:
        await log.write(numbered(number))
        sys.stdout.write(f"r{number}\n")
        sys.stdout.flush()


async def _main(url: str, first: int, count: int, audit: object) -> None:
    numbers = iter(range(first, first + count)) if count else itertools.count(first)
    async with opened(url, audit) as log:
        await asyncio.gather(*(_write(log, numbers) for _ in range(_CLIENTS)))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])))
