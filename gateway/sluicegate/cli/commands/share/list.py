"""`sluicegate share list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sluicegate.cli.commands.share.stored import stored_shares
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.access.shares_file.entries import Entry
    from sluicegate.access.shares_file.export import StoredShares

_HEADER = ("NAME", "SCHEMAS", "TABLES", "ASSETS", "FROM", "RECIPIENTS", "COMMENT")


@click.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List shares with what they contain and who can read them.

    TABLES and ASSETS count individual ones. FROM names the catalogs, and schemas of catalogs, that are
    shared entirely, with what they contain at each request.

    \b
    Examples:
      sluicegate share list
      sluicegate share list --json
    """
    stored = stored_shares(ctx)
    found = [_summary(stored, share) for share in stored.shares]
    if as_json:
        print_json(found)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


def _summary(stored: StoredShares, share: Entry) -> dict[str, Any]:
    from sluicegate.api.assets.models import ASSET_KINDS

    schemas = stored.within("schema", share.key[1])
    sources = [each.values["source"] for each in (share, *schemas) if each.values["source"]]
    return {
        "name": share.names[0],
        "display_name": share.values["display_name"],
        "comment": share.values["comment"],
        "schemas": [schema.names[-1] for schema in schemas],
        "tables": sum(len(stored.within("table", schema.key[1])) for schema in schemas),
        "assets": sum(
            len(stored.within(kind, schema.key[1])) for schema in schemas for kind in ASSET_KINDS
        ),
        "from": [
            {"catalog": source["catalog"], "schema": source.get("schema"), "kinds": source["kinds"]}
            for source in sources
        ],
        "recipients": stored.recipients_of(share),
    }


def _row(summary: dict[str, Any]) -> tuple[str, ...]:
    return (
        summary["name"],
        *(str(count) for count in (len(summary["schemas"]), summary["tables"], summary["assets"])),
        ", ".join(_place(source) for source in summary["from"]) or "-",
        ", ".join(summary["recipients"]) or "-",
        summary["comment"] or "",
    )


def _place(source: dict[str, Any]) -> str:
    schema = source["schema"]
    return f"{source['catalog']}:{schema}" if schema else str(source["catalog"])
