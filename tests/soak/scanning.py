"""Scans of PyIceberg, in a process of their own.

s3fs has one client in a process, which sends requests to be signed for the recipient of its first use.
All scans are therefore those of one recipient. They also don't delay the proxies.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class Scans:
    """Runs one scan at a time."""

    pool: ProcessPoolExecutor
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[Scans]:
        """Start the process, which ends with the block."""
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            yield cls(pool)

    async def rows(
        self, uri: str, table: tuple[str, str, str], properties: Mapping[str, str]
    ) -> pa.Table:
        """All rows of a table, as PyIceberg reads them with these properties of its catalog."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, _scan, uri, table, dict(properties))


def _scan(uri: str, table: tuple[str, str, str], properties: dict[str, str]) -> pa.Table:
    from pyiceberg.catalog.rest import RestCatalog

    catalog = RestCatalog("share", uri=uri, warehouse=table[0], **properties)
    return catalog.load_table(table[1:]).scan().to_arrow()
