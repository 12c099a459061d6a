"""`sluicegate recipient list` and `show`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sluicegate._util.printable import printable
from sluicegate._util.units import format_duration
from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, given, items, path_of
from sluicegate.cli.options import DURATION
from sluicegate.cli.output import columns, json_option, print_json

_CREDENTIAL_HEADER = ("CREDENTIAL", "KIND", "STATE", "CREATED", "EXPIRES")


@click.command("list")
@click.option(
    "--ending",
    "within",
    type=DURATION,
    metavar="DURATION",
    help="Only recipients whose last valid token or client ends within this time.",
)
@json_option
@click.pass_context
def list_(ctx: click.Context, within: int | None, as_json: bool) -> None:
    """List recipients, their granted shares, and how they authenticate.

    \b
    Examples:
      sluicegate recipient list
      sluicegate recipient list --json
      sluicegate recipient list --ending 14d
    """
    query = given(ending=within and f"{within}s")
    found = manage(ctx, lambda target: items(target, "/access", query))
    if as_json:
        print_json(found)
        return
    header = ("NAME", "SHARES", "TOKENS", "ACCESS", "EXPIRES", "COMMENT")
    for line in columns(header, [_row(each) for each in found]):
        click.echo(line)


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show the recipient NAME: its state, grants, credentials, networks, properties and identities.

    Secrets are not shown: the database contains only their hashes. `last issued` is the time of its
    newest entry in the ledger. The OIDC identities are those in the configuration.

    \b
    Examples:
      sluicegate recipient show acme
      sluicegate recipient show acme --json
    """
    path = path_of("/recipients/{}/access", name)
    found = manage(ctx, lambda target: get(target, path))
    if as_json:
        print_json({key: value for key, value in found.items() if key != "activation_link"})
        return
    for label, value in _lines(found):
        click.echo(f"{label + ':':<16}{printable(value)}")
    if found["credentials"]:
        click.echo()
        rows = [_credential_row(each) for each in found["credentials"]]
        for line in columns(_CREDENTIAL_HEADER, rows):
            click.echo(line)


def _row(summary: Content) -> tuple[str, ...]:
    kinds = "revoked" if summary["revoked_at"] else ", ".join(summary["kinds"]) or "-"
    shares = ", ".join(summary["shares"]) or "-"
    tokens, expires = str(summary["tokens"]), summary["expires_at"] or "-"
    return summary["name"], shares, tokens, kinds, expires, summary["comment"] or ""


def _lines(found: Content) -> Iterator[tuple[str, str]]:
    revoked = f" since {found['revoked_at']}" if found["revoked_at"] is not None else ""
    lifetime = found["token_lifetime"]
    yield "name", found["name"]
    yield "id", found["id"]
    yield "state", found["state"] + revoked
    if found["comment"]:
        yield "comment", found["comment"]
    yield "shares", ", ".join(found["shares"]) or "none"
    yield "networks", ", ".join(found["allow_from"]) or "all"
    for key, value in found["properties"].items():
        yield "property", f"{key} = {value}"
    yield "token lifetime", "default" if lifetime is None else format_duration(lifetime)
    for identity in found["oidc"]:
        values = ", ".join(identity["values"])
        yield "OIDC identity", f"{identity['claim']} = {values} of {identity['issuer']}"
    yield "created", found["created_at"]
    yield "last issued", found["last_issued_at"] or "never"


def _credential_row(credential: Content) -> tuple[str, ...]:
    return tuple(credential[name] for name in ("id", "kind", "state", "created_at", "expires_at"))
