"""`sluicegate audit search`: lists records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from sluicegate._util.clock import iso_utc
from sluicegate.audit.records import Outcome
from sluicegate.cli.completion import complete_names
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.moments import MOMENT
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.audit.reading.query import AuditQuery, StoredRecord
    from sluicegate.config import Settings

_HEADER = (
    "SEQ",
    "TIME",
    "OUTCOME",
    "STATUS",
    "ACTOR",
    "ACTION",
    "RESOURCE",
    "RULE",
    "ADDRESS",
    "REQUEST",
)


@click.command()
@click.option("--since", type=MOMENT, metavar="TIME", help="Made at or after this time (7d: ago).")
@click.option("--until", type=MOMENT, metavar="TIME", help="Made before this time.")
@click.option(
    "--recipient",
    metavar="NAME",
    shell_complete=complete_names("recipient"),
    help="Only requests of this recipient.",
)
@click.option(
    "--admin", metavar="NAME", help="Only changes of this administrator, or user of commands."
)
@click.option(
    "--share",
    metavar="NAME",
    shell_complete=complete_names("share"),
    help="Only records about this share.",
)
@click.option(
    "--resource", metavar="NAME", help="Only records about this resource, or what it contains."
)
@click.option("--action", metavar="NAME", help="Only this operation, such as queryTable.")
@click.option("--outcome", type=click.Choice(get_args(Outcome)), help="Only this decision.")
@click.option("--rule", metavar="TEXT", help="Only decisions by a rule that begins with this text.")
@click.option("--address", metavar="IP", help="Only requests from this address.")
@click.option("--request-id", metavar="ID", help="Only this request.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="Maximum number of records.",
)
@click.option(
    "--file",
    "directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIRECTORY",
    help="Search in the directory of a file sink.",
)
@json_option
@click.pass_context
def search(
    ctx: click.Context, /, limit: int, directory: Path | None, as_json: bool, **wanted: Any
) -> None:
    """List the records of the audit log, newest first.

    Without --file, the command searches in the database, or in the files if only they are configured.

    \b
    Examples:
      sluicegate audit search --since 7d --outcome refused
      sluicegate audit search --recipient acme --resource sales.eu --json
    """
    from sluicegate.audit.reading.query import AuditQuery

    query = AuditQuery(**wanted)
    found = _find(load_settings(ctx), query, limit, directory)
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    if not found:
        click.echo("no records found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


def _find(
    settings: Settings, query: AuditQuery, limit: int, directory: Path | None
) -> Sequence[StoredRecord]:
    from sluicegate.audit.reading.search import search_files

    sinks = settings.audit.sinks
    paths = [sink.path for sink in sinks if sink.type == "file"]
    if directory is None and paths and not any(sink.type == "database" for sink in sinks):
        directory = Path(paths[0])
    if directory is not None:
        return search_files(directory, query, limit=limit)
    return run_async(_find_in_database(settings, query, limit))


async def _find_in_database(
    settings: Settings, query: AuditQuery, limit: int
) -> Sequence[StoredRecord]:
    from sluicegate.audit.reading.search import search

    found: list[StoredRecord] = []
    async with open_store(settings) as store:
        async for record in search(store, query):
            found.append(record)
            if len(found) == limit:
                break
    return found


def _as_json(stored: StoredRecord) -> dict[str, Any]:
    from sluicegate.audit.encoding import values_of

    shown = values_of(stored.record) | {"at": iso_utc(stored.record.at)}
    return {"seq": stored.seq, **shown, "mac": stored.mac}


def _row(stored: StoredRecord) -> tuple[str, ...]:
    record = stored.record
    return (
        str(stored.seq),
        iso_utc(record.at),
        record.outcome,
        str(record.status or "-"),
        record.actor or record.actor_kind,
        record.action,
        record.resource or "-",
        record.rule or "-",
        record.address or "-",
        record.request_id or "-",
    )
