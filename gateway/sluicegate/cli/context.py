"""What commands share: the configuration that they were given, and a way to run async work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sluicegate.config import Settings

DEFAULT_CONFIG = "gateway.yaml"
CONFIG_VARIABLE = "SLUICEGATE_CONFIG"
T = TypeVar("T")

_META_KEY = "sluicegate.config"


def config_option() -> click.Option:
    """The option that every command takes, before or after the command's name."""
    return click.Option(
        ["--config"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        is_eager=True,  # so that `--config FILE --help` knows the file's plugins
        expose_value=False,
        callback=_remember_config,
        help=f"Configuration file.  [default: ${CONFIG_VARIABLE} or {DEFAULT_CONFIG}]",
    )


def given_config_path(ctx: click.Context) -> Path | None:
    """The configuration file that the command line or the environment names, if any does."""
    given: Path | None = ctx.meta.get(_META_KEY)
    named = os.environ.get(CONFIG_VARIABLE)
    return given or (Path(named) if named else None)


def config_path(ctx: click.Context) -> Path:
    """The configuration file that the command line, the environment or the default names."""
    return given_config_path(ctx) or Path(DEFAULT_CONFIG)


def load_settings(ctx: click.Context) -> Settings:
    """The settings of the configuration file.

    Raises:
        ConfigurationError: The file cannot be read, or something in it is wrong.
    """
    from sluicegate.config import load_settings as load

    return load(config_path(ctx))


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, on uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(coroutine)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def _remember_config(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.meta[_META_KEY] = value
