"""`sluicegate audit search`: lists records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from sluicegate._util.clock import iso_utc
from sluicegate.audit.records import Outcome
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.server import is_remote
from sluicegate.cli.management.target import Content, given, items
from sluicegate.cli.options import limit_option, name_option, time_options
from sluicegate.cli.output import columns, json_option, print_json

if TYPE_CHECKING:
    from sluicegate.audit.reading.query import AuditQuery, StoredRecord
    from sluicegate.config import Settings

_HEADER = (
    "RECORD",
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
@time_options("Made")
@name_option("recipient", "Only requests of this recipient.")
@click.option(
    "--admin", metavar="NAME", help="Only changes of this administrator, or user of commands."
)
@name_option("share", "Only records about this share.")
@click.option(
    "--resource", metavar="NAME", help="Only records about this resource, or what it contains."
)
@click.option("--action", metavar="NAME", help="Only this operation, such as queryTable.")
@click.option("--outcome", type=click.Choice(get_args(Outcome)), help="Only this decision.")
@click.option("--rule", metavar="TEXT", help="Only decisions by a rule that begins with this text.")
@click.option("--address", metavar="IP", help="Only requests from this address.")
@click.option("--request-id", metavar="ID", help="Only this request.")
@limit_option("records", 100_000)
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
    With --server, it searches in the database of the gateway.

    \b
    Examples:
      sluicegate audit search --since 7d --outcome refused
      sluicegate audit search --recipient acme --resource sales.eu --json
    """
    if directory is not None and is_remote(ctx):
        raise click.UsageError("--file and --server exclude each other", ctx)
    find = _find_at_gateway if is_remote(ctx) else _find_here
    found = find(ctx, wanted, limit, directory)
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no records found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


def _find_at_gateway(
    ctx: click.Context, wanted: Mapping[str, Any], limit: int, _: Path | None
) -> list[Content]:
    times = {name: iso_utc(at) for name in ("since", "until") if (at := wanted[name]) is not None}
    names = {"requestId" if name == "request_id" else name: value for name, value in wanted.items()}
    query = given(**{**names, **times})
    return manage(ctx, lambda target: items(target, "/audit", query, limit=limit))


def _find_here(
    ctx: click.Context, wanted: Mapping[str, Any], limit: int, directory: Path | None
) -> list[Content]:
    from sluicegate.audit.reading.query import AuditQuery, shown
    from sluicegate.audit.reading.search import search_files

    settings, query = load_settings(ctx), AuditQuery(**wanted)
    sinks = settings.audit.sinks
    paths = [sink.path for sink in sinks if sink.type == "file"]
    if directory is None and paths and not any(sink.type == "database" for sink in sinks):
        directory = Path(paths[0])
    if directory is not None:
        return [shown(each) for each in search_files(directory, query, limit=limit)]
    return [shown(each) for each in run_async(_find_in_database(settings, query, limit))]


async def _find_in_database(
    settings: Settings, query: AuditQuery, limit: int
) -> Sequence[StoredRecord]:
    from sluicegate.audit.assembly import chain_keys
    from sluicegate.audit.reading.search import search
    from sluicegate.signing.load import load_keys

    keys = chain_keys(settings.audit, load_keys(settings))
    found: list[StoredRecord] = []
    async with open_store(settings) as store:
        async for record in search(store, keys, query):
            found.append(record)
            if len(found) == limit:
                break
    return found


def _row(record: Content) -> tuple[str, ...]:
    return (
        f"{record['chain']}.{record['seq']}" if record["chain"] else str(record["seq"]),
        record["at"],
        record["outcome"],
        str(record["status"] or "-"),
        record["actor"] or record["actor_kind"],
        record["action"],
        record["resource"] or "-",
        record["rule"] or "-",
        record["address"] or "-",
        record["request_id"] or "-",
    )
