"""`sluicegate recipient revoke`, `restore` and `delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.commands.recipient.service import read_details, run_service
from sluicegate.cli.commands.recipient.sessions import (
    are_complete,
    end_all_sessions,
    outcomes_as_json,
    print_outcomes,
)
from sluicegate.cli.completion import complete_names
from sluicegate.cli.confirmation import can_prompt, confirm, yes_option
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.recorded import CommandChange

if TYPE_CHECKING:
    from sluicegate.access.recipients.details import RecipientDetails
    from sluicegate.config import Settings
    from sluicegate.vending.sessions import SessionsOutcome


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@click.option(
    "--sessions",
    is_flag=True,
    help="Also end its temporary credentials, or print how to end them.",
)
@yes_option
@json_option
@click.pass_context
def revoke(ctx: click.Context, name: str, sessions: bool, yes: bool, as_json: bool) -> None:
    """Revoke all access of NAME immediately. To restore it, run `rotate` or `restore`.

    Issued presigned URLs and temporary credentials remain valid until they expire. With --sessions, the
    command ends these credentials, and the URLs signed with them, in storages that support it.

    If standard input is a terminal, the command prompts for confirmation, unless --yes is given.

    \b
    Examples:
      sluicegate recipient revoke acme
      sluicegate recipient revoke acme --sessions --yes
    """
    settings = load_settings(ctx)
    if not yes and can_prompt():
        question = f"Revoke access of recipient {_described(read_details(settings, name))}?"
        confirm(ctx, question, yes=yes)
    ended = run_service(settings, lambda service: service.revoke(name), _revocation(name))
    if not as_json:
        click.echo(f"{name}: access revoked, with {_valid_tokens(ended)}")
    outcomes = []
    if sessions:
        outcomes = _end_sessions(settings, read_details(settings, name), quiet=as_json)
    if as_json:
        _print_ended(name, "revoked", ended, outcomes)
    if not are_complete(outcomes):
        ctx.exit(1)


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@json_option
@click.pass_context
def restore(ctx: click.Context, name: str, as_json: bool) -> None:
    """Restore access of the revoked recipient NAME with tokens of an OIDC issuer.

    Tokens and clients that the gateway issued stay revoked. To issue new ones, run `rotate`.

    \b
    Example:
      sluicegate recipient restore acme
    """
    change = CommandChange("restoreRecipient", name, (f"~ recipient {name}: restored",))
    run_service(load_settings(ctx), lambda service: service.restore(name), change)
    if as_json:
        print_json({"recipient": name, "state": "active"})
    else:
        click.echo(f"{name}: access restored")


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@click.option(
    "--sessions",
    is_flag=True,
    help="First end its temporary credentials, or print how to end them.",
)
@yes_option
@json_option
@click.pass_context
def delete(ctx: click.Context, name: str, sessions: bool, yes: bool, as_json: bool) -> None:
    """Delete the recipient NAME, with its tokens, OAuth clients and grants.

    The ledger keeps its entries. Issued presigned URLs and temporary credentials remain valid until
    they expire. With --sessions, the command revokes all access, ends these credentials as `revoke`
    does, and deletes the recipient only if that succeeds.

    The command prompts for confirmation. If standard input is not a terminal, it requires --yes.

    \b
    Examples:
      sluicegate recipient delete acme
      sluicegate recipient delete acme --sessions --yes
    """
    settings = load_settings(ctx)
    found = read_details(settings, name)
    confirm(ctx, f"Delete recipient {_described(found)}?", yes=yes, required=True)
    outcomes = []
    if sessions:
        run_service(settings, lambda service: service.revoke(name), _revocation(found.name))
        outcomes = _end_sessions(settings, found, quiet=as_json)
        if not are_complete(outcomes):
            raise InvalidRequest(
                f"{found.name}: access is revoked, but the recipient is not deleted, because not all "
                "sessions ended: repeat the command, or delete it without --sessions"
            )
    run_async(_delete(settings, found))
    if as_json:
        _print_ended(found.name, "deleted", found.valid_credentials, outcomes)
    else:
        click.echo(f"{found.name}: deleted, with {_valid_tokens(found.valid_credentials)}")


async def _delete(settings: Settings, found: RecipientDetails) -> None:
    from sluicegate.access.recipients.details import delete_recipient

    change = CommandChange("deleteRecipient", found.name, (f"- recipient {found.name}",))
    async with open_store(settings, change) as store, store.write() as connection:
        await delete_recipient(connection, found.id)


def _revocation(name: str) -> CommandChange:
    return CommandChange("revokeRecipient", name, (f"~ recipient {name}: revoked",))


def _end_sessions(
    settings: Settings, recipient: RecipientDetails, *, quiet: bool
) -> list[SessionsOutcome]:
    from sluicegate.api import Principal

    principal = Principal(recipient.id, recipient.name, "command")
    outcomes = run_async(end_all_sessions(settings, principal))
    print_outcomes(outcomes, errors_only=quiet)
    return outcomes


def _print_ended(name: str, state: str, credentials: int, outcomes: list[SessionsOutcome]) -> None:
    shown = {"recipient": name, "state": state, "ended_credentials": credentials}
    print_json(shown | {"sessions": outcomes_as_json(outcomes)})


def _described(recipient: RecipientDetails) -> str:
    shares = f", which can read {', '.join(recipient.shares)}" if recipient.shares else ""
    return f"{recipient.name} with {_valid_tokens(recipient.valid_credentials)}{shares}"


def _valid_tokens(count: int) -> str:
    return f"{count} valid token{'' if count == 1 else 's'}"
