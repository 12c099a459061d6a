"""Plain work of known size, measured in the same run: it makes figures of machines comparable."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from hashlib import sha256

SHA256 = "sha256_per_cpu_second"
_PLAIN_SECONDS = 0.5


def bare_hashes(count: int) -> Callable[[], None]:
    """Work: `count` SHA-256 of what follows the key in a canonical request to S3."""
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260101%2Feu-west-1"
        "%2Fs3%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host"
    )
    suffix = f"\n{query}\nhost:lake.s3.eu-west-1.amazonaws.com\n\nhost\nUNSIGNED-PAYLOAD".encode()

    def work() -> None:
        for _ in range(count):
            sha256(suffix).digest()

    return work


def sha256_per_cpu_second(count: int = 20_000) -> int:
    """Bare hashes per second of this process's CPU: how fast the machine is now."""
    return round(count / _median_seconds(bare_hashes(count)))


def plain_join_seconds(lines: int) -> float:
    """CPU seconds of plain Python for joining as many lines of a query's answer from ready columns.

    Nothing is signed, hashed or escaped: no server that makes each line in Python can need less.
    """
    urls = [
        f"https://lake.s3.eu-west-1.amazonaws.com/{'k' * 90}/{row}?{'q' * 340}" for row in range(lines)
    ]
    ids, sizes, stats = ["d" * 32] * lines, range(lines), ["s" * 340] * lines

    def work() -> None:
        "".join(
            f'{{"file":{{"url":"{url}","id":"{id}","partitionValues":{{}},"size":{size},"stats":"{stat}"}}}}\n'
            for url, id, size, stat in zip(urls, ids, sizes, stats, strict=True)
        ).encode()

    return _median_seconds(work)


async def plain_python(_url: str, _number: int, begin: Callable[[], None]) -> int:
    """Rounds of plain Python in a fixed time, for `rate`: what processes do that share nothing."""
    begin()
    rounds, until = 0, time.monotonic() + _PLAIN_SECONDS
    while time.monotonic() < until:
        values = {str(number): [number, f"{number:08d}"] for number in range(500)}
        "".join(f"{key}={value[1]}" for key, value in values.items()).encode()
        rounds += 1
    return rounds


def _median_seconds(work: Callable[[], None], rounds: int = 9) -> float:
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds)
