"""Finds commands: one module for each, imported when it is used, and those of enabled plugins."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.cli.context import config_option, config_path, is_debugging, load_settings
from sluicegate.cli.management.server import (
    UNEXPECTED_FORM,
    is_remote,
    refuse_server,
    refused_options,
    server_options,
)
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
    "index",
    "ledger",
    "limits",
    "plugins",
    "recipient",
    "schedules",
    "serve",
    "share",
    "tables",
    "tasks",
    "usage",
    "workers",
)

MANAGING = frozenset(
    (
        "access",
        "admin",
        "apply",
        "audit",
        "ledger",
        "limits",
        "recipient",
        "schedules",
        "share",
        "tables",
        "tasks",
        "usage",
        "workers",
    )
)
"""Commands that can also manage a gateway over its Admin API, with `--server`."""

# These use the configured database, although the user may expect the gateway of $SLUICEGATE_SERVER.
_DECEIVING = frozenset(("import",))
# Subcommands of `MANAGING` that use the configured database.
_LOCAL = frozenset(("audit export", "audit verify"))

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these arguments, which must be one that accepts `--server` if it is given."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name not in MANAGING and not ctx.resilient_parsing:
            refuse_server(ctx, name, also_variable=name in _DECEIVING)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. If it cannot read what a gateway returned, the error says so."""
        try:
            return super().invoke(ctx)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            if is_debugging() or not is_remote(ctx):
                raise
            raise ConfigurationError(UNEXPECTED_FORM) from error

    def _import_all(self) -> None:
        for name in MODULES:
            self._import(name)

    def _import(self, name: str) -> None:
        if name not in self.commands:
            own = f"sluicegate.cli.commands.{name.replace('-', '_')}"
            import_module(_PACKAGES.get(name, own)).register(self)
            _take_options(self.commands[name], name, manages=name in MANAGING)

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


def _take_options(command: click.Command, path: str, *, manages: bool) -> None:
    """Add the options of all commands to a command and its subcommands."""
    known = {parameter.name for parameter in command.params}
    is_local = path in _LOCAL
    refused = refused_options(also_variable=is_local)
    added = [config_option(), *(server_options() if manages and not is_local else refused)]
    command.params += [option for option in added if option.name not in known]
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            _take_options(below, f"{path} {name}", manages=manages)
