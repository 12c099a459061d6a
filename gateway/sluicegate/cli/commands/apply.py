"""`sluicegate apply`: makes the database match a shares file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.confirmation import can_prompt, confirm, yes_option
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.differences import (
    describe_counts,
    difference_as_json,
    print_difference,
    print_result,
)
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.recorded import CommandChange, recorded
from sluicegate.cli.terminal import Progress, report

if TYPE_CHECKING:
    from sluicegate.access.shares_file.diff import Difference
    from sluicegate.access.shares_file.read import SharesFile
    from sluicegate.config import Settings


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
    settings = load_settings(ctx)
    shares = _read(file, settings)
    warnings = [] if offline else run_async(_warnings(settings, shares, quiet=as_json))
    for line in warnings:
        report("warning", line)
    shown = None
    if dry_run or (can_prompt() and not yes):
        shown = run_async(_apply(settings, shares, prune=prune, dry_run=True))
        if not as_json:
            print_difference(shown)
        if not dry_run and shown.removals:
            confirm(ctx, f"Apply {describe_counts(shown)}?", yes=yes)
    difference = shown
    if not dry_run:
        difference = run_async(_apply(settings, shares, prune=prune, expected=shown))
    assert difference is not None  # noqa: S101 # a dry run has computed it
    if as_json:
        print_json(difference_as_json(difference, applied=not dry_run, warnings=warnings))
    else:
        if shown is None:
            print_difference(difference)
        print_result(difference, applied=not dry_run)
    if dry_run and difference.changes:
        ctx.exit(CHANGES_PENDING)


def _read(file: Path, settings: Settings) -> SharesFile:
    from sluicegate.access.shares_file.read import check_shares_file, read_shares_file
    from sluicegate.config.yaml import parse_document

    if str(file) != "-":
        return read_shares_file(file, settings.catalogs)
    content = sys.stdin.buffer.read(_MAX_INPUT + 1)
    if len(content) > _MAX_INPUT:
        raise InvalidRequest(f"standard input has more than {_MAX_INPUT >> 20} MiB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("standard input is not UTF-8 text") from None
    return check_shares_file(parse_document(text, Path("<stdin>")), settings.catalogs)


async def _warnings(settings: Settings, shares: SharesFile, *, quiet: bool) -> list[str]:
    """The problems that the catalogs report for the sources."""
    from sluicegate.access.shares_file.catalog_check import check_sources
    from sluicegate.api.errors import ConfigurationError
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.catalogs.guarded import GuardedCatalog
    from sluicegate.plugins.context import NoLinks

    try:
        registry = Registry.load(settings)
        instances = Instances(
            registry,
            configure(settings, registry),
            links=NoLinks,
            guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
        )
    except ConfigurationError as error:
        return [f"the sources were not checked: {line}" for line in error.message.splitlines()]
    try:
        with Progress("looking up sources in their catalogs", hidden=quiet) as progress:
            return await check_sources(shares, instances.catalog, on_progress=progress.update)
    finally:
        await instances.aclose()


async def _apply(
    settings: Settings,
    shares: SharesFile,
    *,
    prune: bool,
    dry_run: bool = False,
    expected: Difference | None = None,
) -> Difference:
    from sluicegate.access.shares_file.apply import apply_shares_file

    async with open_store(settings) as store:
        if dry_run:
            return await apply_shares_file(store, shares, prune=prune, dry_run=True)
        # The changes are recorded before they are made, so exactly these must be made.
        planned = expected or await apply_shares_file(store, shares, prune=prune, dry_run=True)
        change = CommandChange.of("applySharesFile", planned)
        async with recorded(settings, store, change):
            return await apply_shares_file(store, shares, prune=prune, expected=planned)
