"""`sluicegate import`: takes over shares, recipients and their token from the reference server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.options import DURATION

if TYPE_CHECKING:
    from sluicegate.cli.reference_server.translate import Names, Translation

_CHANGES_PENDING = 2
_YEAR = 365 * 86_400


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(import_)


def _public_url(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from pydantic import TypeAdapter, ValidationError

    from sluicegate.config.model import HttpUrl

    try:
        return str(TypeAdapter(HttpUrl).validate_python(value))
    except ValidationError:
        raise click.BadParameter("expected an http:// or https:// address", ctx, param) from None


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    default=".",
    show_default="the current folder",
    help="Folder for gateway.yaml and shares.yaml.",
)
@click.option("--force", is_flag=True, help="Overwrite these files; with --apply: allow removals.")
@click.option("--apply", "applies", is_flag=True, help="Apply to the database; writes no files.")
@click.option("--dry-run", is_flag=True, help="With --apply: show the differences only.")
@click.option(
    "--recipient",
    metavar="NAME",
    default="delta-sharing",
    show_default=True,
    help="Recipient that has the server's token.",
)
@click.option(
    "--catalog",
    metavar="NAME",
    default="lake",
    show_default=True,
    help="Catalog of type paths for the tables.",
)
@click.option(
    "--token-lifetime",
    type=DURATION,
    metavar="DURATION",
    help="With --apply: how long the token stays valid.  [default: recipients.token_lifetime]",
)
@click.option(
    "--public-url",
    metavar="URL",
    callback=_public_url,
    help="Address of the gateway in the profiles, without the path.",
)
@click.option("--partial", is_flag=True, help="Leave out tables that cannot be translated.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def import_(
    ctx: click.Context,
    file: Path,
    output: Path,
    force: bool,
    applies: bool,
    dry_run: bool,
    recipient: str,
    catalog: str,
    token_lifetime: int | None,
    public_url: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Import FILE, the delta-sharing-server.yaml of the reference Delta Sharing server.

    The command reports what became of each setting. By default, it writes gateway.yaml and
    shares.yaml. With --apply, it applies the shares to the database of an existing gateway.yaml, and
    stores the SHA-256 of the server's token: recipients then read on with the profile that they have.
    With --dry-run, the exit code is 2 if there are changes to make.

    \b
    Examples:
      sluicegate import delta-sharing-server.yaml --output gateway
      sluicegate import delta-sharing-server.yaml --apply --token-lifetime 90d
    """
    from sluicegate.cli.reference_server.read import read_reference_config
    from sluicegate.cli.reference_server.translate import Names, translate

    if dry_run and not applies:
        raise click.UsageError("--dry-run needs --apply")
    names = Names(catalog, _checked(ctx, recipient))
    source = read_reference_config(file)
    translation = translate(source, names, public_url=public_url, partial=partial)
    if applies:
        done, pending = _apply(ctx, translation, names, token_lifetime, dry_run=dry_run, removes=force)
    else:
        pending, done = False, _write(translation, output, file, overwrite=force)
    notes = translation.notes.of("translated", "changed", "dropped", "untranslatable", "warning")
    if as_json:
        click.echo(json.dumps({"notes": [asdict(note) for note in notes], "result": done}, indent=2))
    else:
        for line in (*map(str, notes), *done):
            click.echo(line)
    if pending:
        ctx.exit(_CHANGES_PENDING)


def _checked(ctx: click.Context, recipient: str) -> str:
    from sluicegate.database.names import check_name

    try:
        return check_name("recipient", recipient)
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None


def _write(translation: Translation, folder: Path, file: Path, *, overwrite: bool) -> list[str]:
    from sluicegate.cli.reference_server.files import write_files

    contents = {"gateway.yaml": translation.settings, "shares.yaml": translation.shares}
    write_files(folder, contents, overwrite=overwrite)
    return [
        f"wrote {folder / 'gateway.yaml'} and {folder / 'shares.yaml'}",
        "next: complete gateway.yaml, check it with `sluicegate config check`, then run `sluicegate "
        f"import {file} --apply` with this configuration",
    ]


def _apply(
    ctx: click.Context,
    translation: Translation,
    names: Names,
    token_lifetime: int | None,
    *,
    dry_run: bool,
    removes: bool,
) -> tuple[list[str], bool]:
    from sluicegate.access.shares_file.diff import render
    from sluicegate.cli.reference_server.apply import apply_translation

    settings = load_settings(ctx)
    lifetime = token_lifetime or settings.recipients.token_lifetime
    if lifetime > _YEAR:
        message = "the token stays valid for more than a year; who finds it can read for as long"
        translation.notes.add("warning", ("authorization", "bearerToken"), message)
    applied = run_async(
        apply_translation(settings, translation, names, lifetime, dry_run=dry_run, removes=removes)
    )
    lines = [*render(applied.difference), *_token_lines(applied.token)]
    return lines, dry_run and bool(applied.difference.changes)


def _token_lines(token: object) -> Iterator[str]:
    from sluicegate._util.clock import iso_utc
    from sluicegate.access.recipients.imported_tokens import ImportedToken

    if isinstance(token, ImportedToken):
        verb = "is known already" if token.known else "was imported"
        yield (
            f"the token of recipient '{token.recipient}' {verb}, and is valid until "
            f"{iso_utc(token.expires_at)}; before that, send new profiles: sluicegate recipient rotate"
        )
