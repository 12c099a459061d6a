"""`sluicegate audit export`: writes records to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.options import time_options
from sluicegate.cli.terminal import report

if TYPE_CHECKING:
    from sluicegate.config import Settings

_Format = Literal["ndjson", "csv"]
_Write = Callable[[bytes], object]


@click.command()
@time_options("Made")
@click.option(
    "--format",
    "form",
    type=click.Choice(["ndjson", "csv"]),
    default="ndjson",
    show_default=True,
    help="Format. Only NDJSON can be verified.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to create, which only you can read.  [default: standard output]",
)
@click.pass_context
def export(
    ctx: click.Context, since: int | None, until: int | None, form: _Format, output: Path | None
) -> None:
    """Write the records in the database, oldest first.

    NDJSON contains the lines of the hash chains, which `sluicegate audit verify --file` verifies. In
    CSV, cells that a spreadsheet would take for formulas start with an apostrophe.

    \b
    Examples:
      sluicegate audit export --since 30d -o audit.ndjson
      sluicegate audit export --format csv -o audit.csv
    """
    settings = load_settings(ctx)
    with _opened(output) as write:
        count = run_async(_export(settings, since, until, form, write))
    report("note", f"exported {count} records")


async def _export(
    settings: Settings, since: int | None, until: int | None, form: _Format, write: _Write
) -> int:
    from sluicegate.audit.assembly import chain_keys
    from sluicegate.audit.reading.export import csv_header, csv_line, export_lines
    from sluicegate.audit.reading.query import stored_record
    from sluicegate.audit.sinks.database.reading import read_heads
    from sluicegate.signing.load import load_keys

    count = 0
    if form == "csv":
        write(csv_header().encode())
    async with open_store(settings) as store:
        heads = await read_heads(store, chain_keys(settings.audit, load_keys(settings)))
        if heads is None:
            raise ConfigurationError("a head of the audit log is not intact: sluicegate audit verify")
        after = {chain: head.checkpoint for chain, head in heads.items()}
        async for line in export_lines(store, after, since=since, until=until):
            is_record = line.startswith(b'{"seq":')
            count += is_record
            if form == "ndjson":
                write(line + b"\n")
            elif is_record:
                write(csv_line(stored_record(line)).encode())
    return count


@contextmanager
def _opened(path: Path | None) -> Iterator[_Write]:
    """A function that writes to a new private file, or to standard output."""
    if path is None:
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigurationError(f"{path} already exists; choose another file") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file.write
    except BaseException:
        path.unlink(missing_ok=True)
        raise
