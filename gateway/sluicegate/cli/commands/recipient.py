"""`sluicegate recipient`: creates, lists, rotates, revokes and restores recipients."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.durations import DURATION
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.access.recipients.credentials import IssuedCredential
    from sluicegate.access.recipients.service import Recipients, RecipientSummary
    from sluicegate.config import Settings
    from sluicegate.database.tables import CredentialKind

_Result = TypeVar("_Result")
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


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(recipient)


def _profile_options(command: Callable[..., None]) -> Callable[..., None]:
    force = click.option("--force", is_flag=True, help="Overwrite the profile file.")
    profile = click.option(
        "--profile",
        metavar="FILE",
        help="File to write the profile to; - prints it.  [default: NAME.share]",
    )
    return profile(force(command))


@click.group()
def recipient() -> None:
    """Create, list, rotate, revoke and restore recipients.

    \b
    Examples:
      sluicegate recipient create acme
      sluicegate recipient list
    """


@recipient.command()
@click.argument("name")
@click.option("--comment", help="Comment shown in lists.")
@_kind_option
@_lifetime_option
@_profile_options
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    comment: str | None,
    kind: CredentialKind,
    token_lifetime: int | None,
    profile: str | None,
    force: bool,
) -> None:
    """Create the recipient NAME and write its profile. To grant shares, run `sluicegate apply`.

    \b
    Examples:
      sluicegate recipient create acme --comment "Acme Inc." --token-lifetime 90d
      sluicegate recipient create acme --oauth --profile acme.share
    """
    settings = _reachable(ctx)
    with _profile_target(profile, name, force=force) as write:
        issued = _run(
            settings,
            lambda service: service.create(
                name, kind=kind, comment=comment, token_lifetime=token_lifetime
            ),
        )
        write(settings, issued)


@recipient.command()
@click.argument("name")
@click.option(
    "--grace", type=DURATION, metavar="DURATION", help="How long old ones remain valid, such as 24h."
)
@_kind_option
@_lifetime_option
@_profile_options
@click.pass_context
def rotate(
    ctx: click.Context,
    name: str,
    grace: int | None,
    kind: CredentialKind,
    token_lifetime: int | None,
    profile: str | None,
    force: bool,
) -> None:
    """Issue a new profile for NAME. Its old tokens and clients remain valid for a grace period.

    \b
    Examples:
      sluicegate recipient rotate acme
      sluicegate recipient rotate acme --grace 24h --force
    """
    settings = _reachable(ctx)
    with _profile_target(profile, name, force=force) as write:
        issued = _run(
            settings,
            lambda service: service.rotate(name, kind=kind, grace=grace, token_lifetime=token_lifetime),
        )
        write(settings, issued)


@recipient.command()
@click.argument("name")
@click.option(
    "--sessions",
    is_flag=True,
    help="Also end its temporary credentials, or print how to end them.",
)
@click.pass_context
def revoke(ctx: click.Context, name: str, sessions: bool) -> None:
    """Revoke all access of NAME immediately. To restore it, run `rotate` or `restore`.

    Issued presigned URLs and temporary credentials remain valid until they expire. With --sessions, the
    command ends these credentials, and the URLs signed with them, in storages that support it.

    \b
    Examples:
      sluicegate recipient revoke acme
      sluicegate recipient revoke acme --sessions
    """
    settings = load_settings(ctx)
    ended = _run(settings, lambda service: service.revoke(name))
    click.echo(f"{name}: access revoked, with {ended} valid token{'' if ended == 1 else 's'}")
    if sessions and not _end_sessions(settings, name):
        ctx.exit(1)


@recipient.command()
@click.argument("name")
@click.pass_context
def restore(ctx: click.Context, name: str) -> None:
    """Restore access of the revoked recipient NAME with tokens of an OIDC issuer.

    Tokens and clients that the gateway issued stay revoked. To issue new ones, run `rotate`.

    \b
    Example:
      sluicegate recipient restore acme
    """
    _run(load_settings(ctx), lambda service: service.restore(name))
    click.echo(f"{name}: access restored")


@recipient.command("list")
@click.option(
    "--ending",
    "within",
    type=DURATION,
    metavar="DURATION",
    help="Only recipients whose last valid token or client ends within this time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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

    found = _run(load_settings(ctx), lambda service: service.list())
    if within is not None:
        found = ending(found, epoch_ms() + within * 1000)
    if as_json:
        click.echo(json.dumps([_as_json(each) for each in found], indent=2, ensure_ascii=False))
    else:
        for line in columns(
            ("NAME", "SHARES", "TOKENS", "ACCESS", "EXPIRES", "COMMENT"), [_row(each) for each in found]
        ):
            click.echo(line)


def _reachable(ctx: click.Context) -> Settings:
    from sluicegate.config.served_address import reachable

    return reachable(load_settings(ctx))


def _run(settings: Settings, work: Callable[[Recipients], Awaitable[_Result]]) -> _Result:
    from sluicegate.access.recipients.service import Recipients

    async def run() -> _Result:
        async with open_store(settings) as store:
            tokens = settings.recipients
            service = Recipients(
                store, token_lifetime=tokens.token_lifetime, rotation_grace=tokens.rotation_grace
            )
            return await work(service)

    return run_async(run())


def _end_sessions(settings: Settings, name: str) -> bool:
    from sluicegate.api import Principal
    from sluicegate.cli.sessions import end_all_sessions

    known = {each.name.casefold(): each for each in _run(settings, lambda service: service.list())}
    found = known[name.casefold()]
    return run_async(end_all_sessions(settings, Principal(found.id, found.name, "command")))


@contextmanager
def _profile_target(
    profile: str | None, name: str, *, force: bool
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
            click.echo(f"{issued.recipient}: profile written to {path}; it expires {until}")

        yield write_and_tell


def _default_profile(name: str) -> Path:
    from sluicegate.database.names import check_name

    try:
        return Path(f"{check_name('recipient', name)}.share")
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _as_json(summary: RecipientSummary) -> dict[str, Any]:
    times = {key: getattr(summary, key) for key in ("created_at", "revoked_at", "expires_at")}
    return asdict(summary) | {key: at and iso_utc(at) for key, at in times.items()}


def _row(summary: RecipientSummary) -> tuple[str, ...]:
    kinds = "revoked" if summary.revoked_at else ", ".join(summary.kinds) or "-"
    expires = iso_utc(summary.expires_at) if summary.expires_at else "-"
    shares = ", ".join(summary.shares) or "-"
    return summary.name, shares, str(summary.tokens), kinds, expires, summary.comment or ""
