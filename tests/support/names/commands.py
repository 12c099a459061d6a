"""Whether commands and their options exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from sluicegate.cli.main import build_cli

_NAME = re.compile(r"[a-z][a-z-]*")
_OPTION = re.compile(r"--[a-z][a-z-]*")


def unknown_in_command(words: Sequence[str]) -> Iterator[str]:
    """What `sluicegate` doesn't know of a command: the first name that is wrong, and options."""
    command: click.Command = build_cli()
    known = {"--help", "--version"}
    for word in words:
        if isinstance(command, click.Group) and _NAME.fullmatch(word.rstrip(",")):
            below = command.get_command(click.Context(command), word.rstrip(","))
            if below is None:
                yield f"sluicegate {' '.join(words)}"
                return
            command = below
        known.update(
            name for option in command.params for name in (*option.opts, *option.secondary_opts)
        )
        option = _OPTION.match(word.lstrip("["))
        if option and option[0] not in known:
            yield option[0]
