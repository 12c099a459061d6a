"""`sluicegate apply`: makes the database match a shares file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.applying import FileApplication
from sluicegate.cli.confirmation import can_prompt, confirm, yes_option
from sluicegate.cli.differences import (
    describe_counts,
    difference_as_json,
    print_difference,
    print_result,
)
from sluicegate.cli.output import json_option, print_json

if TYPE_CHECKING:
    from sluicegate.config.yaml import Document


CHANGES_PENDING = 2
"""Exit code of a dry run that finds differences, as `terraform plan -detailed-exitcode` has it."""

_MAX_INPUT = 64 << 20


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(apply)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the differences without applying them. The exit code is 2 if there are any.",
)
@click.option("--offline", is_flag=True, help="Do not check in the catalogs that the sources exist.")
@click.option("--prune", is_flag=True, help="Remove shares and recipients that FILE does not contain.")
@yes_option
@json_option
@click.pass_context
def apply(
    ctx: click.Context,
    file: Path,
    dry_run: bool,
    offline: bool,
    prune: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Apply the shares file FILE: show the differences, then apply them in one transaction.

    Shares and recipients in FILE are replaced by their definitions there. Others do not change. To
    issue the first token of a new recipient, run `sluicegate recipient rotate`. If FILE is -, the
    command reads standard input.

    The command looks up each table and schema in its catalog. If one does not exist, or the gateway is
    not allowed to read it, the command prints a warning on standard error and shares it anyway.

    If something will be removed, and standard input is a terminal, the command prompts for
    confirmation, unless --yes is given. Otherwise it applies the file without confirmation.

    The exit code is 0 on success, 1 after an error, and with --dry-run 2 if there are differences.

    \b
    Examples:
      sluicegate apply shares.yaml --dry-run
      sluicegate apply shares.yaml --prune --yes
      sluicegate apply -
    """
    document = _read(file)
    application = FileApplication(ctx, document, prune=prune)
    check = not offline
    shown = None
    if dry_run or (can_prompt() and not yes):
        shown = application.compare(check=check, quiet=as_json)
        check = False
        if not as_json:
            print_difference(shown)
        if not dry_run and shown.removals:
            confirm(ctx, f"Apply {describe_counts(shown)}?", yes=yes)
    made = shown
    if not dry_run:
        made = application.apply(shown, check=check, quiet=as_json)
    assert made is not None  # noqa: S101 # a dry run has computed it
    if as_json:
        warnings = made.warnings or (shown.warnings if shown is not None else [])
        print_json(difference_as_json(made, applied=not dry_run, warnings=warnings))
    else:
        if shown is None:
            print_difference(made)
        print_result(made, applied=not dry_run)
    if dry_run and made.changes:
        ctx.exit(CHANGES_PENDING)


def _read(file: Path) -> Document:
    from sluicegate.config.yaml import parse_document, read_document

    if str(file) != "-":
        return read_document(file)
    content = sys.stdin.buffer.read(_MAX_INPUT + 1)
    if len(content) > _MAX_INPUT:
        raise InvalidRequest(f"standard input has more than {_MAX_INPUT >> 20} MiB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("standard input is not UTF-8 text") from None
    return parse_document(text, Path("<stdin>"))
