"""`sluicegate apply`: makes the database match a shares file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sluicegate._util.printable import printable
from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Target, flags, items
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.terminal import Progress, can_prompt, confirm, report, yes_option

if TYPE_CHECKING:
    from sluicegate.config.yaml import Document


_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "~": "yellow"}


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """The changes that a shares file makes."""

    lines: Sequence[str]
    changes: Sequence[Any]
    untouched: Sequence[Any]
    removals: int
    warnings: Sequence[str]
    tag: str


def print_difference(difference: ShownDifference) -> None:
    """Print a difference, with colours if standard output is a terminal."""
    for line in difference.lines:
        click.secho(printable(line), fg=_COLOURS.get(line[:1]))


def print_result(difference: ShownDifference, *, applied: bool) -> None:
    """Print the number of changes, if there are any."""
    if difference.changes:
        click.echo(f"{_count(len(difference.changes), 'change')} {'made' if applied else 'to make'}")


def difference_as_json(
    difference: ShownDifference, *, applied: bool, warnings: Sequence[str]
) -> dict[str, Any]:
    """The output of `sluicegate apply --json`."""
    return {
        "applied": applied,
        "changes": list(difference.changes),
        "untouched": list(difference.untouched),
        "warnings": list(warnings),
    }


def describe_counts(difference: ShownDifference) -> str:
    """Such as `3 changes with 1 removal`."""
    removals = _count(difference.removals, "removal")
    return f"{_count(len(difference.changes), 'change')} with {removals}"


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"


class FileApplication:
    """A shares file that a command applies."""

    def __init__(self, ctx: click.Context, document: Document, *, prune: bool) -> None:
        self._ctx = ctx
        self._document = document
        self._prune = prune

    def compare(self, *, check: bool, quiet: bool) -> ShownDifference:
        """The changes that the file would make."""
        return self._send(None, dry_run=True, check=check, quiet=quiet)

    def apply(self, expected: ShownDifference | None, *, check: bool, quiet: bool) -> ShownDifference:
        """Make the changes: only the expected ones, if they were shown; see `compare`."""
        tag = None if expected is None else expected.tag
        return self._send(tag, dry_run=False, check=check, quiet=quiet)

    def _send(self, match: str | None, *, dry_run: bool, check: bool, quiet: bool) -> ShownDifference:
        query = flags(dry_run=dry_run, prune=self._prune, check_sources=check)

        async def send(target: Target) -> ShownDifference:
            await self._check(target)
            body = to_json(self._document)
            answer = await target.send("POST", "/apply", query=query, body=body, match=match)
            found = answer.content
            return ShownDifference(
                lines=found["text"],
                changes=found["changes"],
                untouched=found["untouched"],
                removals=found["removals"],
                warnings=[self._warning(each) for each in found["warnings"]],
                tag=answer.headers["ETag"],
            )

        try:
            title = "looking up sources in their catalogs"
            with Progress(title, hidden=quiet or not check) as progress:
                shown = manage(self._ctx, send, on_progress=progress.update)
        except InvalidRequest as error:
            raise InvalidRequest("\n".join(self._positioned(error.message))) from None
        for line in shown.warnings:
            report("warning", line)
        return shown

    async def _check(self, target: Target) -> None:
        """Find the problems whose positions only the file has."""
        from sluicegate.access.shares_file.read import check_shares_file

        catalogs = [each["name"] for each in await items(target, "/catalogs")]
        check_shares_file(self._document, catalogs)

    def _warning(self, problem: dict[str, Any]) -> str:
        location = problem["location"]
        message = printable(problem["message"])
        return self._document.problem(location, message) if location else message

    def _positioned(self, message: str) -> Iterator[str]:
        """The lines of a message with their positions in the file, if they begin with a path."""
        paths = sorted(self._document.marks, key=len, reverse=True)
        for line in message.splitlines():
            for path in paths:
                text = f"{'.'.join(path)}: "
                if path and line.startswith(text):
                    yield self._document.problem(path, line.removeprefix(text))
                    break
            else:
                yield line


def to_json(document: Document) -> dict[str, Any]:
    """The content of a file as values of JSON."""
    from pydantic_core import to_jsonable_python

    content = to_jsonable_python(document.data)
    return content if isinstance(content, dict) else {}


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
