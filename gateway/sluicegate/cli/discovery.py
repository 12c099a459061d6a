"""Finds commands: one module for each, imported when it is used, and those of enabled plugins.

To list commands, nothing is imported: those of plugins are entry points.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import config_option, config_path, is_debugging, load_settings
from sluicegate.cli.management.server import (
    UNEXPECTED_FORM,
    is_remote,
    refuse_server,
    refused_options,
    server_options,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MODULES: Final[Mapping[str, str]] = {
    "access": "Explain which recipients can read a table, and why.",
    "admin": "Create, list and delete administrators of the Admin API.",
    "apply": "Apply the shares file FILE: show the differences, then apply them in one transaction.",
    "audit": "Search, verify and export the audit log.",
    "completion": "Print a script that completes commands, options and names in SHELL.",
    "config": "Check a configuration file, or print its schema.",
    "database": "Migrate the database, or back it up.",
    "delegation": "Run the delegation service, or a worker that executes its tasks.",
    "demo": "Share three Delta tables on this machine, and read them with the official client.",
    "doctor": "Check a deployment: what works, what doesn't, and what to do about it.",
    "hadoop-token": "Get delegation tokens for Hadoop and Spark as a recipient, or show a token file.",
    "import": "Import FILE, the delta-sharing-server.yaml of the reference Delta Sharing server.",
    "index": "Build, list, or remove snapshot indexes, with which large tables are read in part.",
    "ledger": "List the URLs, temporary credentials and tokens that recipients received, newest first.",
    "limits": "Show the limits of recipients, and the files and bytes that they were offered on a day.",
    "plugins": "List installed and enabled plugins, and what they provide.",
    "recipient": "Create, show, rotate, revoke, restore and delete recipients.",
    "schedules": "Manage the schedules of the delegation service, which are in the configuration.",
    "serve": "Serve the configured shares until SIGTERM or Ctrl-C.",
    "share": "List, show and export shares.",
    "tables": (
        "List the tables, or other assets, of all catalogs, of one CATALOG, or of one SCHEMA of it."
    ),
    "tasks": "Manage the tasks of the delegation service in the configured database.",
    "usage": "Sum the responses, credentials and files that recipients were offered, from the ledger.",
    "workers": "Show what the workers of the delegation service do now.",
}
"""The commands, with what `--help` shows of each: the first sentence of its own help."""

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

COMMANDS = "sluicegate.commands"
"""The group of entry points with which distributions of plugins declare the names of commands."""

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

    The module of a command imports heavy modules in its functions, so that its `--help` is fast.
    """

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of all commands, and what each of them does."""
        _listed().format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and options that begin with a text."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=command.get_short_help_str())
            for name, command in sorted(_listed().commands.items())
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or `None`."""
        if cmd_name in MODULES:
            self._import(cmd_name)
        elif cmd_name not in self.commands:
            self._add_plugin_commands(ctx)
            if cmd_name not in self.commands:
                self._refuse(ctx, cmd_name)
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

    def _refuse(self, ctx: click.Context, name: str) -> None:
        """Say what is missing if the command is that of a plugin; otherwise, click suggests others."""
        owner = _declared().get(name)
        if owner is not None and not ctx.resilient_parsing:
            load_settings(ctx)  # a missing file is the problem, rather than what it lacks
            raise click.UsageError(
                f"'{name}' is a command of {owner}, whose plugin is not enabled: "
                f"add its section, or its name under 'plugins', to {config_path(ctx)}"
            )
        for each in MODULES:
            self._import(each)

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
        from sluicegate.cli.database import PluginCommands
        from sluicegate.plugins import Registry

        own = dict(self.commands)
        registry = Registry.load(names)
        registry.commands(self, lambda name: PluginCommands(name, settings, registry))
        # A plugin can add commands, but never replace a built-in one.
        self.commands.update(own)


def _listed() -> click.Group:
    """All commands, only with what a listing shows of them."""
    plugins = {name: f"A command of {owner}." for name, owner in _declared().items()}
    return click.Group(
        commands={name: click.Command(name, help=text) for name, text in {**plugins, **MODULES}.items()}
    )


def _declared() -> Mapping[str, str]:
    """The commands that installed distributions declare, and the name of each distribution."""
    from importlib.metadata import entry_points

    return {each.name: each.dist.name for each in entry_points(group=COMMANDS) if each.dist is not None}


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
