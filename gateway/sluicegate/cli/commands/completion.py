"""`sluicegate completion`: prints the completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sluicegate.cli.context import COMPLETION_VARIABLE


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(completion)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and names in SHELL.

    Bash must be version 4.4 or later. To enable completion in each new shell, add the line of the
    example to ~/.bashrc or ~/.zshrc. For fish, write the output to
    ~/.config/fish/completions/sluicegate.fish.

    \b
    Examples:
      sluicegate completion fish
      sluicegate completion bash > /etc/bash_completion.d/sluicegate
    """
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 # click has one for each of the choices
    script = found(ctx.find_root().command, {}, "sluicegate", COMPLETION_VARIABLE)
    click.echo(script.source())
