"""Common functions of commands: the configuration file, and running coroutines."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sluicegate.cli.terminal import report

if TYPE_CHECKING:
    from sluicegate.config import Settings

DEFAULT_CONFIG = "gateway.yaml"
CONFIG_VARIABLE = "SLUICEGATE_CONFIG"
DEBUG_VARIABLE = "SLUICEGATE_DEBUG"
COMPLETION_VARIABLE = "_SLUICEGATE_COMPLETE"
"""Set by completion scripts. Its name follows from that of the command, in click."""
T = TypeVar("T")

_META_KEY = "sluicegate.config"
_WARNED_KEY = "sluicegate.config.warned"


def is_debugging() -> bool:
    """Whether unexpected errors end a command with a traceback."""
    return os.environ.get(DEBUG_VARIABLE) == "1"


def unexpected(error: Exception) -> str:
    """The text for an error that no command expects: only its type, as messages can contain secrets."""
    return f"unexpected {type(error).__name__}; set {DEBUG_VARIABLE}=1 for a traceback"


def config_option() -> click.Option:
    """The option `--config`, which every command accepts before or after its name."""
    return click.Option(
        ["--config"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        is_eager=True,  # so that `--config FILE --help` lists the commands of the file's plugins
        expose_value=False,
        callback=_remember_config,
        help=f"Configuration file.  [default: ${CONFIG_VARIABLE} or {DEFAULT_CONFIG}]",
    )


def given_config_path(ctx: click.Context) -> Path | None:
    """The configuration file from the command line or else the environment, or `None`."""
    given: Path | None = ctx.meta.get(_META_KEY)
    named = os.environ.get(CONFIG_VARIABLE)
    return given or (Path(named) if named else None)


def explicit_config(ctx: click.Context) -> bool:
    """Whether the command line names the configuration file."""
    return ctx.meta.get(_META_KEY) is not None


def config_path(ctx: click.Context) -> Path:
    """The configuration file from the command line, the environment, or else the default."""
    return given_config_path(ctx) or Path(DEFAULT_CONFIG)


def load_settings(ctx: click.Context, *, warn: bool = True) -> Settings:
    """Read the settings from the configuration file."""
    return load_settings_from(ctx, config_path(ctx), warn=warn)


def load_settings_from(ctx: click.Context, path: Path, *, warn: bool = True) -> Settings:
    """Read the settings from a file, and report each deprecated key once on standard error."""
    from sluicegate.config import load_settings as load

    settings = load(path)
    warned: set[str] = ctx.meta.setdefault(_WARNED_KEY, set())
    for warning in settings.source.warnings if warn else ():
        if warning not in warned:
            warned.add(warning)
            report("warning", warning)
    return settings


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine until it completes, with uvloop if it is installed."""
    import asyncio

    try:
        import uvloop
    except ImportError:
        return asyncio.run(coroutine)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def _remember_config(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.meta[_META_KEY] = value
