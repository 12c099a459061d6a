"""`sluicegate recipient revoke`, `restore` and `delete`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, path_of
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.terminal import can_prompt, confirm, yes_option


def end_sessions(ctx: click.Context, name: str, *, quiet: bool) -> list[dict[str, Any]]:
    """End a recipient's sessions in every storage that vends, and print the outcomes."""
    path = path_of("/recipients/{}/sessions/end", name)
    answer = manage(ctx, lambda target: target.send("POST", path))
    outcomes: list[dict[str, Any]] = answer.content["items"]
    for outcome in outcomes:
        _print(outcome, quiet=quiet)
    if not outcomes and not quiet:
        click.echo("no configured storage vends credentials: there are no sessions to end")
    return outcomes


def are_complete(outcomes: Sequence[dict[str, Any]]) -> bool:
    """Whether no storage failed. Where sessions only expire, nothing could be done."""
    return not any(outcome["error"] and outcome["supported"] for outcome in outcomes)


def outcomes_as_json(outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes as values for JSON."""
    return [
        {name: outcome[name] for name in ("storage", "ended", "instructions", "error")}
        for outcome in outcomes
    ]


def _print(outcome: dict[str, Any], *, quiet: bool) -> None:
    place = f"storage '{outcome['storage']}'"
    if outcome["error"] is not None:
        click.echo(f"{place}: {outcome['error']}", err=True)
    elif outcome["instructions"] is not None and not quiet:
        done = "sessions ended" if outcome["ended"] else "an administrator must end the sessions"
        click.echo(f"{place}: {done}\n{outcome['instructions']}")


def _end_options(sessions: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of commands that end access."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        option = click.option("--sessions", is_flag=True, help=sessions)
        return option(yes_option(json_option(command)))

    return add


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@_end_options("Also end its temporary credentials, or print how to end them.")
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
    if not yes and can_prompt():
        question = f"Revoke access of recipient {_described(_read(ctx, name))}?"
        confirm(ctx, question, yes=yes)
    ended = _revoke(ctx, name)
    if not as_json:
        click.echo(f"{name}: access revoked, with {_valid_tokens(ended)}")
    outcomes = end_sessions(ctx, name, quiet=as_json) if sessions else []
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
    path = path_of("/recipients/{}/restore", name)
    manage(ctx, lambda target: target.send("POST", path))
    if as_json:
        print_json({"recipient": name, "state": "active"})
    else:
        click.echo(f"{name}: access restored")


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@_end_options("First end its temporary credentials, or print how to end them.")
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
    found = _read(ctx, name)
    name = found["name"]
    confirm(ctx, f"Delete recipient {_described(found)}?", yes=yes, required=True)
    outcomes = []
    if sessions:
        _revoke(ctx, name)
        outcomes = end_sessions(ctx, name, quiet=as_json)
        if not are_complete(outcomes):
            raise InvalidRequest(
                f"{name}: access is revoked, but the recipient is not deleted, because not all "
                "sessions ended: repeat the command, or delete it without --sessions"
            )
    path = path_of("/recipients/{}", name)
    manage(ctx, lambda target: target.send("DELETE", path))
    ended = _valid_credentials(found)
    if as_json:
        _print_ended(name, "deleted", ended, outcomes)
    else:
        click.echo(f"{name}: deleted, with {_valid_tokens(ended)}")


def _read(ctx: click.Context, name: str) -> Content:
    path = path_of("/recipients/{}/access", name)
    return manage(ctx, lambda target: get(target, path))


def _revoke(ctx: click.Context, name: str) -> int:
    path = path_of("/recipients/{}/revoke", name)
    ended: int = manage(ctx, lambda target: target.send("POST", path)).content["ended"]
    return ended


def _print_ended(name: str, state: str, credentials: int, outcomes: list[Content]) -> None:
    shown = {"recipient": name, "state": state, "ended_credentials": credentials}
    print_json(shown | {"sessions": outcomes_as_json(outcomes)})


def _described(recipient: Content) -> str:
    shares = f", which can read {', '.join(recipient['shares'])}" if recipient["shares"] else ""
    return f"{recipient['name']} with {_valid_tokens(_valid_credentials(recipient))}{shares}"


def _valid_credentials(recipient: Content) -> int:
    return sum(credential["state"] == "valid" for credential in recipient["credentials"])


def _valid_tokens(count: int) -> str:
    return f"{count} valid token{'' if count == 1 else 's'}"
