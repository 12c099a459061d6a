"""Runs the demo: writes tables, shares them, serves them and reads them back."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from anyio import to_thread

from sluicegate.cli.demo.folder import RECIPIENT, SCHEMA, SHARE, DemoFolder
from sluicegate.cli.demo.reading import Recipient, show, verify, verify_latest
from sluicegate.cli.demo.tables import DemoTable, write_tables
from sluicegate.config import Settings
from sluicegate.server.serve import serve_gateway

Say = Callable[[str], None]

_SNIPPETS = """
Read it with pandas (pip install delta-sharing):

    import delta_sharing
    print(delta_sharing.load_as_pandas({table!r}))

or look at the protocol itself:

    curl -H "Authorization: Bearer $(sed -n 's/.*"bearerToken": "\\(.*\\)".*/\\1/p' {profile})" \\
        {address}/delta-sharing/shares/{share}/all-tables
"""


class Interrupted(Exception):
    """A signal stopped the demo before it completed."""


async def run_demo(folder: DemoFolder, *, port: int, check: bool, say: Say) -> None:
    """Write tables, share them, serve them and read them back; then serve until a signal."""
    say(f"Sluicegate demo in {folder.path}\n")
    recipient = await to_thread.run_sync(Recipient, folder.profile)
    settings = folder.configure(port)
    folder.tables.mkdir()
    tables = await to_thread.run_sync(_write, folder, say)
    await folder.share(settings, tables)
    say(f"  shared  them as {SHARE}.{SCHEMA} with the recipient '{RECIPIENT}'")
    async with _serving(settings) as (address, ended):
        say(f"  serving {address}/delta-sharing")
        say(f"  profile {folder.profile}")
        await _read_back(recipient, tables, ended, check=check, say=say)
        if check:
            say("\nEverything was read back exactly as it was written.")
            return
        say(_snippets(folder, address))
        say("Serving until Ctrl-C.")
        await ended


def _write(folder: DemoFolder, say: Say) -> list[DemoTable]:
    tables = []
    for table in write_tables(folder.tables):
        say(f"  wrote   {table.name:<10} {table.about}")
        tables.append(table)
    return tables


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncIterator[tuple[str, asyncio.Task[None]]]:
    """The gateway's address, and its task, which a signal stops."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(serve_gateway(settings, on_ready=ready.set_result, stop=stop))
    await asyncio.wait((ready, serving), return_when=asyncio.FIRST_COMPLETED)
    try:
        if not ready.done():
            await serving
            raise Interrupted
        yield ready.result(), serving
    finally:
        stop.set()
        await serving


async def _read_back(
    recipient: Recipient,
    tables: Sequence[DemoTable],
    ended: asyncio.Task[None],
    *,
    check: bool,
    say: Say,
) -> None:
    def read() -> None:
        for table in tables:
            say(f"\n{SHARE}.{SCHEMA}.{table.name}, read by {recipient.client}:")
            frame = recipient.read(table.name)
            for line in show(frame):
                say(line)
            say(f"    {len(frame):,} rows")
            verify_latest(table, frame)
            if check:
                verify(recipient, table, say)

    reading = asyncio.create_task(to_thread.run_sync(read, abandon_on_cancel=True))
    await asyncio.wait((reading, ended), return_when=asyncio.FIRST_COMPLETED)
    if not reading.done():
        reading.cancel()
        raise Interrupted
    await reading


def _snippets(folder: DemoFolder, address: str) -> str:
    return _SNIPPETS.format(
        table=f"{folder.profile}#{SHARE}.{SCHEMA}.orders",
        profile=shlex.quote(str(folder.profile)),
        address=address,
        share=SHARE,
    )
