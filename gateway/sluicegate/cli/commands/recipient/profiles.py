"""`sluicegate recipient create` and `rotate`, which write profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, path_of
from sluicegate.cli.options import DURATION
from sluicegate.cli.output import json_option, print_json


def print_link(made: dict[str, Any], *, as_json: bool = False) -> None:
    """Print a link on standard output; what to do with it, on standard error."""
    if as_json:
        print_json({name: made[name] for name in ("recipient", "activation_url", "expires_at")})
        return
    click.echo(made["activation_url"])
    click.echo(
        f"{made['recipient']}: send this link over a private channel; it works once, until "
        f"{made['expires_at']}",
        err=True,
    )


_STANDARD_OUTPUT = "-"

_CREDENTIAL_OPTIONS = (
    click.option(
        "--oauth",
        "kind",
        flag_value="oauth",
        default="bearer",
        help="Write a profile of version 2, with OAuth client credentials instead of a bearer token.",
    ),
    click.option(
        "--token-lifetime",
        type=DURATION,
        metavar="DURATION",
        help="How long the token or client is valid, such as 90d.",
    ),
    click.option(
        "--activation",
        is_flag=True,
        help="Write no profile; print a link with which the recipient downloads it once.",
    ),
    click.option(
        "--profile",
        metavar="FILE",
        help="File to write the profile to; - prints it.  [default: NAME.share]",
    ),
    click.option("--force", is_flag=True, help="Overwrite the profile file."),
    json_option,
)


def _credential_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that issue a credential, or a link for one."""
    for option in reversed(_CREDENTIAL_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class _Issue:
    """Issues a credential as a profile, or creates a link for it."""

    ctx: click.Context
    path: str
    wanted: dict[str, Any]

    def __call__(self, deliver: Literal["activation", "profile"]) -> Content:
        body = self.wanted | {"deliver": deliver}
        answer = manage(
            self.ctx,
            lambda target: target.send("POST", self.path, body=body),
            writes_profiles=True,
        )
        return dict(answer.content)


@click.command()
@click.argument("name")
@click.option("--comment", help="Comment shown in lists.")
@_credential_options
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    comment: str | None,
    kind: str,
    token_lifetime: int | None,
    activation: bool,
    profile: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Create the recipient NAME and write its profile. To grant shares, run `sluicegate apply`.

    \b
    Examples:
      sluicegate recipient create acme --comment "Acme Inc." --token-lifetime 90d
      sluicegate recipient create acme --oauth --profile acme.share
      sluicegate recipient create acme --activation
    """
    wanted = {"name": name, "comment": comment, "kind": kind, "token_lifetime": token_lifetime}
    issue = _Issue(ctx, "/recipients", wanted)
    _deliver(issue, name, activation=activation, profile=profile, force=force, as_json=as_json)


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@click.option(
    "--grace", type=DURATION, metavar="DURATION", help="How long old ones remain valid, such as 24h."
)
@_credential_options
@click.pass_context
def rotate(
    ctx: click.Context,
    name: str,
    grace: int | None,
    kind: str,
    token_lifetime: int | None,
    activation: bool,
    profile: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Issue a new profile for NAME. Its old tokens and clients remain valid for a grace period.

    \b
    Examples:
      sluicegate recipient rotate acme
      sluicegate recipient rotate acme --grace 24h --force
      sluicegate recipient rotate acme --activation
    """
    wanted = {"kind": kind, "grace": grace, "token_lifetime": token_lifetime}
    issue = _Issue(ctx, path_of("/recipients/{}/tokens", name), wanted)
    _deliver(issue, name, activation=activation, profile=profile, force=force, as_json=as_json)


def _check_no_profile(profile: str | None, *, force: bool) -> None:
    if profile or force:
        raise click.UsageError("--activation writes no profile: leave out --profile and --force")


def _deliver(
    issue: _Issue, name: str, *, activation: bool, profile: str | None, force: bool, as_json: bool
) -> None:
    if activation:
        _check_no_profile(profile, force=force)
        print_link(issue("activation"), as_json=as_json)
        return
    with _profile_target(profile, name, force=force, as_json=as_json) as write:
        write(issue("profile"))


@contextmanager
def _profile_target(
    profile: str | None, name: str, *, force: bool, as_json: bool
) -> Iterator[Callable[[Content], None]]:
    """Open the destination of the profile before the token is created, so that no token is lost."""
    from sluicegate.access.recipients.profile import new_profile_file, profile_json

    if profile == _STANDARD_OUTPUT:
        yield lambda made: click.echo(profile_json(made["profile"]), nl=False)
        return
    path = Path(profile) if profile else _default_profile(name)
    with new_profile_file(path, overwrite=force) as write:

        def write_and_tell(made: Content) -> None:
            write(profile_json(made["profile"]))
            recipient, until = made["recipient"], made["expires_at"]
            if as_json:
                shown = {"recipient": recipient, "profile": str(path), "expires_at": until}
                print_json(shown | {"client_id": made["profile"].get("clientId")})
            else:
                click.echo(f"{recipient}: profile written to {path}; it expires {until}")

        yield write_and_tell


def _default_profile(name: str) -> Path:
    from sluicegate.database.names import check_name

    try:
        return Path(f"{check_name('recipient', name)}.share")
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
