"""Lines of server access logs for requests that were really sent, in the format of Amazon S3."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

_IDS = itertools.count(1)


def logged(
    target: str,
    *,
    at: datetime | None = None,
    requester: str = "-",
    address: str = "127.0.0.1",
    operation: str = "REST.GET.OBJECT",
    status: int = 200,
    size: int = 0,
) -> str:
    """Return the line of a request."""
    bucket, _, key = target.partition("?")[0].removeprefix("/").partition("/")
    time = at or datetime.now(UTC)
    return (
        f"79a59df900b949e5 {bucket} [{time:%d/%b/%Y:%H:%M:%S %z}] {address} {requester} "
        f'ID{next(_IDS):014} {operation} {key or "-"} "GET {target} HTTP/1.1" {status} - {size} {size} '
        '7 5 "-" "python/3.11" - aG9zdC1pZA== SigV4 - QueryString 127.0.0.1 - - -\n'
    )


def read_and_log(url: str, address: str) -> tuple[int, str]:
    """Read a presigned URL from an address; the number of bytes, and the line that S3 would log."""
    at = datetime.now(UTC)
    answer = httpx.get(url).raise_for_status()
    parts = urlsplit(url)
    size = len(answer.content)
    return size, logged(f"{parts.path}?{parts.query}", at=at, address=address, size=size)
