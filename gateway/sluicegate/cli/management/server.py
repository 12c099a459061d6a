"""The option `--server`, and the token of the administrator."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import explicit_config
from sluicegate.cli.terminal import report

SERVER_VARIABLE = "SLUICEGATE_SERVER"
TOKEN_VARIABLE = "SLUICEGATE_ADMIN_TOKEN"  # noqa: S105  (a name)

UNEXPECTED_FORM = (
    "the response of the gateway has an unexpected form: "
    "use a command of the same version as the gateway"
)

_SERVER_KEY = "sluicegate.server"
_TOKEN_KEY = "sluicegate.token_file"  # noqa: S105  (a name)
_WARNED_KEY = "sluicegate.server.warned"
_LONGEST_TOKEN = 16_384


@dataclass(frozen=True, slots=True)
class Server:
    """A gateway to manage."""

    url: str
    token: str = field(repr=False)
    token_source: str


def server_options() -> list[click.Option]:
    """The options of commands that can manage a gateway."""
    return [
        click.Option(
            ["--server"],
            metavar="URL",
            expose_value=False,
            callback=_remember_server,
            help=f"Gateway to manage over its Admin API, instead of the configured database.  "
            f"[default: ${SERVER_VARIABLE}]",
        ),
        click.Option(
            ["--token-file"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            expose_value=False,
            callback=_remember_token,
            help=f"File with the administrator's token for --server.  [default: ${TOKEN_VARIABLE}]",
        ),
    ]


def refused_options(*, also_variable: bool) -> list[click.Option]:
    """The same options for commands that work with files and processes of this machine."""
    refuse = partial(_refuse, also_variable=also_variable)
    return [
        click.Option([name], expose_value=False, hidden=True, callback=refuse)
        for name in ("--server", "--token-file")
    ]


def refuse_server(ctx: click.Context, command: str, *, also_variable: bool) -> None:
    """Reject a `--server` that was given before the name of a command that cannot manage a gateway.

    Args:
        also_variable: Whether the environment variable is rejected, too, because the command would
            change a database that the user does not expect.
    """
    if ctx.meta.get(_SERVER_KEY) or ctx.meta.get(_TOKEN_KEY):
        raise click.UsageError(_only_local(command))
    if also_variable and os.environ.get(SERVER_VARIABLE) and not explicit_config(ctx):
        raise click.UsageError(f"{_only_local(command)}: unset {SERVER_VARIABLE}, or add --config")


def is_remote(ctx: click.Context) -> bool:
    """Whether a command manages a gateway over its Admin API."""
    return _url(ctx) is not None


def given_server(ctx: click.Context) -> Server | None:
    """The gateway to manage; `None` for the configured database."""
    given: str | None = ctx.meta.get(_SERVER_KEY)
    if given is not None and explicit_config(ctx):
        raise click.UsageError("--server and --config exclude each other")
    url = _url(ctx)
    token_file: Path | None = ctx.meta.get(_TOKEN_KEY)
    if url is None:
        if token_file is not None:
            raise click.UsageError("--token-file needs --server")
        return None
    checked = _checked_url(url)
    token, source = _token(token_file)
    _warn_without_tls(ctx, checked)
    return Server(checked, token, source)


def _url(ctx: click.Context) -> str | None:
    given: str | None = ctx.meta.get(_SERVER_KEY)
    if given is None and explicit_config(ctx):
        return None
    return given or os.environ.get(SERVER_VARIABLE) or None


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError("--server must be a URL, such as https://share.example.com")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"--server must not contain a user or password: use --token-file or {TOKEN_VARIABLE}"
        )
    if parts.query or parts.fragment:
        raise ConfigurationError("--server must be a URL without a query or fragment")
    return url.rstrip("/")


def _token(file: Path | None) -> tuple[str, str]:
    if file is None:
        text, source = os.environ.get(TOKEN_VARIABLE, ""), TOKEN_VARIABLE
        if not text:
            raise ConfigurationError(
                f"--server needs the token of an administrator: use --token-file, or {TOKEN_VARIABLE}"
            )
    else:
        text, source = _content(file), str(file)
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(f"{source} does not contain a token")
    return token, source


def _content(file: Path) -> str:
    from sluicegate.config.secrets import world_readable

    if world_readable(file):
        raise ConfigurationError(f"every user can read the token in {file}: chmod o-r {file}")
    with file.open("rb") as opened:
        return opened.read(_LONGEST_TOKEN).decode("utf-8", "replace")


def _warn_without_tls(ctx: click.Context, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or _is_loopback(parts.hostname or "") or ctx.meta.get(_WARNED_KEY):
        return
    ctx.meta[_WARNED_KEY] = True
    report("warning", f"the administrator's token is sent to {url} without encryption: use https")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _remember_server(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_SERVER_KEY] = value


def _remember_token(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.meta[_TOKEN_KEY] = value


def _refuse(ctx: click.Context, _: click.Parameter, value: str | None, *, also_variable: bool) -> None:
    if ctx.resilient_parsing:
        return
    command = ctx.command_path.partition(" ")[2]
    if value is not None:
        raise click.UsageError(_only_local(command))
    refuse_server(ctx, command, also_variable=also_variable)


def _only_local(command: str) -> str:
    return f"{command} works on this machine, with its configuration; --server is not for it"
