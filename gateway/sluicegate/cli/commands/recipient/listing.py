"""`sluicegate recipient list` and `show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate._util.printable import printable
from sluicegate._util.units import format_duration
from sluicegate.cli.commands.recipient.service import read_details, run_service
from sluicegate.cli.completion import complete_names
from sluicegate.cli.context import load_settings
from sluicegate.cli.durations import DURATION
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.access.recipients.details import CredentialDetails, OidcIdentity, RecipientDetails
    from sluicegate.access.recipients.service import RecipientSummary

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
    from sluicegate.access.recipients.ending import ending

    found = run_service(load_settings(ctx), lambda service: service.list())
    if within is not None:
        found = ending(found, epoch_ms() + within * 1000)
    if as_json:
        print_json([_with_times(asdict(each)) for each in found])
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
    from sluicegate.access.recipients.details import oidc_identities

    settings = load_settings(ctx)
    found = read_details(settings, name)
    identities = oidc_identities(settings.authentication.oidc, found.name)
    if as_json:
        shown = _with_times(asdict(found)) | {"oidc": [asdict(each) for each in identities]}
        shown["credentials"] = [_with_times(each) for each in shown["credentials"]]
        print_json(shown)
        return
    for label, value in _lines(found, identities):
        click.echo(f"{label + ':':<16}{printable(value)}")
    if found.credentials:
        click.echo()
        rows = [_credential_row(each) for each in found.credentials]
        for line in columns(_CREDENTIAL_HEADER, rows):
            click.echo(line)


def _with_times(shown: dict[str, Any]) -> dict[str, Any]:
    """Replace epoch milliseconds by ISO 8601."""
    times = {key: iso_utc(at) for key, at in shown.items() if key.endswith("_at") and at is not None}
    return shown | times


def _row(summary: RecipientSummary) -> tuple[str, ...]:
    kinds = "revoked" if summary.revoked_at else ", ".join(summary.kinds) or "-"
    expires = iso_utc(summary.expires_at) if summary.expires_at else "-"
    shares = ", ".join(summary.shares) or "-"
    return summary.name, shares, str(summary.tokens), kinds, expires, summary.comment or ""


def _lines(found: RecipientDetails, identities: list[OidcIdentity]) -> Iterator[tuple[str, str]]:
    revoked = f" since {iso_utc(found.revoked_at)}" if found.revoked_at is not None else ""
    lifetime = found.token_lifetime
    yield "name", found.name
    yield "id", found.id
    yield "state", found.state + revoked
    if found.comment:
        yield "comment", found.comment
    yield "shares", ", ".join(found.shares) or "none"
    yield "networks", ", ".join(found.allow_from) or "all"
    for key, value in found.properties.items():
        yield "property", f"{key} = {value}"
    yield "token lifetime", "default" if lifetime is None else format_duration(lifetime)
    for identity in identities:
        values = ", ".join(identity.values)
        yield "OIDC identity", f"{identity.claim} = {values} of {identity.issuer}"
    yield "created", iso_utc(found.created_at)
    yield "last issued", "never" if found.last_issued_at is None else iso_utc(found.last_issued_at)


def _credential_row(credential: CredentialDetails) -> tuple[str, ...]:
    times = iso_utc(credential.created_at), iso_utc(credential.expires_at)
    return credential.id, credential.kind, credential.state, *times
