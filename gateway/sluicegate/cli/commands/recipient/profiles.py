"""`sluicegate recipient create` and `rotate`, which write profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate._util.clock import iso_utc
from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.commands.recipient.activation import print_link
from sluicegate.cli.commands.recipient.service import run_service
from sluicegate.cli.completion import complete_names
from sluicegate.cli.context import load_settings
from sluicegate.cli.durations import DURATION
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.recorded import CommandChange

if TYPE_CHECKING:
    from sluicegate.access.recipients.credentials import IssuedCredential
    from sluicegate.config import Settings
    from sluicegate.database.tables import CredentialKind

_STANDARD_OUTPUT = "-"

_lifetime_option = click.option(
    "--token-lifetime",
    type=DURATION,
    metavar="DURATION",
    help="How long the token or client is valid, such as 90d.",
)
_kind_option = click.option(
    "--oauth",
    "kind",
    flag_value="oauth",
    default="bearer",
    help="Write a profile of version 2, with OAuth client credentials instead of a bearer token.",
)
_activation_option = click.option(
    "--activation",
    is_flag=True,
    help="Write no profile; print a link with which the recipient downloads it once.",
)


def _profile_options(command: Callable[..., None]) -> Callable[..., None]:
    force = click.option("--force", is_flag=True, help="Overwrite the profile file.")
    profile = click.option(
        "--profile",
        metavar="FILE",
        help="File to write the profile to; - prints it.  [default: NAME.share]",
    )
    return profile(force(command))


@click.command()
@click.argument("name")
@click.option("--comment", help="Comment shown in lists.")
@_kind_option
@_lifetime_option
@_activation_option
@_profile_options
@json_option
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    comment: str | None,
    kind: CredentialKind,
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
    settings = _reachable(ctx)
    if activation:
        _check_no_profile(profile, force=force)
        print_link(
            settings,
            lambda links: links.create(name, kind=kind, comment=comment, token_lifetime=token_lifetime),
            _creation(name, "activation link"),
            as_json=as_json,
        )
        return
    with _profile_target(profile, name, force=force, as_json=as_json) as write:
        issued = run_service(
            settings,
            lambda service: service.create(
                name, kind=kind, comment=comment, token_lifetime=token_lifetime
            ),
            _creation(name, "credential"),
        )
        write(settings, issued)


@click.command()
@click.argument("name", shell_complete=complete_names("recipient"))
@click.option(
    "--grace", type=DURATION, metavar="DURATION", help="How long old ones remain valid, such as 24h."
)
@_kind_option
@_lifetime_option
@_activation_option
@_profile_options
@json_option
@click.pass_context
def rotate(
    ctx: click.Context,
    name: str,
    grace: int | None,
    kind: CredentialKind,
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
    settings = _reachable(ctx)
    if activation:
        _check_no_profile(profile, force=force)
        print_link(
            settings,
            lambda links: links.rotate(name, kind=kind, grace=grace, token_lifetime=token_lifetime),
            _rotation(name, "activation link"),
            as_json=as_json,
        )
        return
    with _profile_target(profile, name, force=force, as_json=as_json) as write:
        issued = run_service(
            settings,
            lambda service: service.rotate(name, kind=kind, grace=grace, token_lifetime=token_lifetime),
            _rotation(name, "credential"),
        )
        write(settings, issued)


def _creation(name: str, issued: str) -> CommandChange:
    return CommandChange(
        "createRecipient", name, (f"+ recipient {name}", f"+ {issued} of recipient {name}")
    )


def _rotation(name: str, issued: str) -> CommandChange:
    changes = f"+ {issued} of recipient {name}", f"~ older credentials of recipient {name} end"
    return CommandChange("issueCredential", name, changes)


def _check_no_profile(profile: str | None, *, force: bool) -> None:
    if profile or force:
        raise click.UsageError("--activation writes no profile: leave out --profile and --force")


def _reachable(ctx: click.Context) -> Settings:
    from sluicegate.config.served_address import reachable

    return reachable(load_settings(ctx))


@contextmanager
def _profile_target(
    profile: str | None, name: str, *, force: bool, as_json: bool
) -> Iterator[Callable[[Settings, IssuedCredential], None]]:
    """Open the destination of the profile before the token is created, so that no token is lost."""
    from sluicegate.access.recipients.profile import new_profile_file, profile_text

    if profile == _STANDARD_OUTPUT:
        yield lambda settings, issued: click.echo(profile_text(issued, settings.public_url), nl=False)
        return
    path = Path(profile) if profile else _default_profile(name)
    with new_profile_file(path, overwrite=force) as write:

        def write_and_tell(settings: Settings, issued: IssuedCredential) -> None:
            write(profile_text(issued, settings.public_url).encode())
            until = iso_utc(issued.expires_at)
            if as_json:
                shown = {"recipient": issued.recipient, "profile": str(path), "expires_at": until}
                print_json(shown | {"client_id": issued.client_id})
            else:
                click.echo(f"{issued.recipient}: profile written to {path}; it expires {until}")

        yield write_and_tell


def _default_profile(name: str) -> Path:
    from sluicegate.database.names import check_name

    try:
        return Path(f"{check_name('recipient', name)}.share")
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
