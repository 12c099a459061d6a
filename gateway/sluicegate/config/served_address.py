"""Finds the address for profiles if `public_url` is not configured.

A running gateway stores its address in a file next to the SQLite database. Commands that write profiles
read it there, because the port can come from the command line or the operating system.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.config.private_files import new_private_file
from sluicegate.database.urls import DatabaseUrl

_log = logging.getLogger(__name__)
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (what is replaced)
_CONNECT_SECONDS = 1.0
_LONGEST = 1000
_ADDRESS = re.compile(rb"https?://[!-~]+")


def served_at(settings: Settings, host: str, port: int) -> Settings:
    """The settings with the `public_url` of this address, unless one is configured."""
    if _configured(settings):
        return settings
    return settings.model_copy(update={"public_url": _url(settings, host, port)})


@contextmanager
def announced(settings: Settings, host: str, port: int) -> Iterator[None]:
    """Store the address for commands until the block ends, unless `public_url` is configured."""
    path = None if _configured(settings) else _file(settings)
    if path is None:
        yield
        return
    if not _is_address(path):
        _log.warning("%s is not a file of the gateway, and stays as it is: set public_url", path)
        yield
        return
    content = _url(settings, host, port).encode()
    try:
        with new_private_file(path, overwrite=True, remedy="set public_url") as write:
            write(content)
    except ConfigurationError as error:
        _log.warning("new profiles might contain a wrong port: %s; set public_url", error.message)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_bytes() == content:  # otherwise another gateway started later
                path.unlink()


def reachable(settings: Settings) -> Settings:
    """The settings for a command that writes profiles.

    Their `public_url` is the configured one, or the address of the running gateway, or else the
    configured host and port.

    Raises:
        ConfigurationError: The configured port is 0, and no gateway is running.
    """
    if _configured(settings):
        return settings
    running = _running(settings)
    if running is not None:
        return settings.model_copy(update={"public_url": running})
    if settings.server.port == 0:
        raise ConfigurationError(
            "the profile needs the gateway's address, which server.port 0 leaves open: "
            "set public_url, or start the gateway first"
        )
    return served_at(settings, settings.server.host, settings.server.port)


def _configured(settings: Settings) -> bool:
    return "public_url" in settings.model_fields_set


def _url(settings: Settings, host: str, port: int) -> str:
    scheme = "http" if settings.server.tls is None else "https"
    host = _ANY_HOST.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _file(settings: Settings) -> Path | None:
    """The file of the address. With PostgreSQL there is none: replicas share no folder or address."""
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    return Path(database.target).with_suffix(".address") if database.dialect == "sqlite" else None


def _is_address(path: Path) -> bool:
    """Whether there is no file, or one that contains an address. Others might be valuable."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return len(text) <= _LONGEST and _ADDRESS.fullmatch(text) is not None


def _running(settings: Settings) -> str | None:
    path = _file(settings)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            text = os.fsdecode(file.read(_LONGEST)).strip()
        parts = urlsplit(text)
        # A gateway that was killed leaves its file behind.
        socket.create_connection((parts.hostname or "", parts.port or 0), _CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return None
    return text
