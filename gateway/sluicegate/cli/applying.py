"""Compares and applies a shares file, and finds the positions of problems in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from sluicegate._util.printable import printable
from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.differences import ShownDifference
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Target, flags, items
from sluicegate.cli.terminal import Progress, report

if TYPE_CHECKING:
    from sluicegate.config.yaml import Document


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
