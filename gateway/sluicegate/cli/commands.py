"""Where commands come from: one module each, imported when wanted, and the enabled plugins."""

from __future__ import annotations

from importlib import import_module

import click

from sluicegate.cli.context import config_option, config_path, load_settings
from sluicegate.errors import SluicegateError

MODULES = (
    "apply",
    "config",
    "delegation",
    "demo",
    "hadoop-token",
    "ledger",
    "plugins",
    "recipient",
    "serve",
    "tables",
    "tasks",
)


class CommandGroup(click.Group):
    """The gateway's own commands, and those of the plugins that the configuration's `plugins:` names.

    A command's module imports what it needs in its functions, so that `--help` is quick.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands; a broken configuration only hides those of plugins."""
        for name in MODULES:
            self._import(name)
        try:
            self._add_plugin_commands(ctx)
        except SluicegateError as error:
            click.echo(f"note: commands of plugins are not listed: {error.message}", err=True)
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name in MODULES:
            self._import(cmd_name)
        elif cmd_name not in self.commands:
            self._add_plugin_commands(ctx)
        return super().get_command(ctx, cmd_name)

    def _import(self, name: str) -> None:
        if name not in self.commands:
            import_module(f"sluicegate.cli.{name.replace('-', '_')}").register(self)
            _take_config(self.commands[name])

    def _add_plugin_commands(self, ctx: click.Context) -> None:
        if not config_path(ctx).exists():
            return
        names = load_settings(ctx).plugins
        if not names:
            return
        from sluicegate.registry import Registry

        own = dict(self.commands)
        Registry.load(names).commands(self)
        # A plugin adds commands; it never takes the place of one.
        self.commands.update(own)


def _take_config(command: click.Command) -> None:
    """Let a command and the commands below it take `--config`."""
    if not any(parameter.name == "config" for parameter in command.params):
        command.params.append(config_option())
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_config(below)
