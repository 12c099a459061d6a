"""Finds commands: one module for each, imported when it is used, and those of enabled plugins."""

from __future__ import annotations

from importlib import import_module

import click

from sluicegate.api.errors import SluicegateError
from sluicegate.cli.context import config_option, config_path, load_settings
from sluicegate.cli.terminal import report

MODULES = (
    "access",
    "admin",
    "apply",
    "audit",
    "completion",
    "config",
    "database",
    "delegation",
    "demo",
    "doctor",
    "hadoop-token",
    "import",
    "ledger",
    "limits",
    "plugins",
    "recipient",
    "serve",
    "share",
    "tables",
    "tasks",
    "usage",
)

# Commands whose name isn't that of their module in `commands`.
_PACKAGES = {
    "doctor": "sluicegate.cli.doctor.command",
    "import": "sluicegate.cli.reference_server.command",
    "usage": "sluicegate.cli.commands.ledger.usage",
}


class CommandGroup(click.Group):
    """The built-in commands, and those of the plugins listed under `plugins:` in the configuration.

    The module of a command imports heavy modules in its functions, so that `--help` is fast.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands. If the configuration is invalid, those of plugins are left out."""
        self._import_all()
        try:
            self._add_plugin_commands(ctx)
        except SluicegateError as error:
            if not ctx.resilient_parsing:  # completion is silent
                report("note", f"plugin commands are not listed: {error.message}")
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or `None`."""
        if cmd_name in MODULES:
            self._import(cmd_name)
        elif cmd_name not in self.commands:
            self._add_plugin_commands(ctx)
            if cmd_name not in self.commands:
                self._import_all()  # click suggests the most similar of them
        return super().get_command(ctx, cmd_name)

    def _import_all(self) -> None:
        for name in MODULES:
            self._import(name)

    def _import(self, name: str) -> None:
        if name not in self.commands:
            own = f"sluicegate.cli.commands.{name.replace('-', '_')}"
            import_module(_PACKAGES.get(name, own)).register(self)
            _take_config(self.commands[name])

    def _add_plugin_commands(self, ctx: click.Context) -> None:
        if not config_path(ctx).exists():
            return
        settings = load_settings(ctx, warn=not ctx.resilient_parsing)
        names = [section.type for section in settings.plugins]
        if not names:
            return
        from sluicegate.plugins import Registry

        own = dict(self.commands)
        Registry.load(names).commands(self)
        # A plugin can add commands, but never replace a built-in one.
        self.commands.update(own)


def _take_config(command: click.Command) -> None:
    """Add `--config` to a command and its subcommands."""
    if not any(parameter.name == "config" for parameter in command.params):
        command.params.append(config_option())
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_config(below)
