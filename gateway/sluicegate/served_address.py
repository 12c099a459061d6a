"""How recipients reach a gateway without a `public_url`: where the running one listens.

A running gateway keeps its address in a file next to the SQLite database, so that commands that write
profiles find a port that only the command line or the system chose.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from sluicegate.config import Settings
from sluicegate.errors import ConfigurationError
from sluicegate.private_file import new_private_file
from sluicegate.store.urls import DatabaseUrl

_log = logging.getLogger(__name__)
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (what is replaced)
_CONNECT_SECONDS = 1.0
_LONGEST = 1000


def served_at(settings: Settings, host: str, port: int) -> Settings:
    """The settings of a gateway that listens there; a configured `public_url` stays."""
    if _configured(settings):
        return settings
    return settings.model_copy(update={"public_url": _url(host, port)})


@contextmanager
def announced(settings: Settings, host: str, port: int) -> Iterator[None]:
    """Let commands find a gateway that listens there until the block ends, where they need to."""
    path = None if _configured(settings) else _file(settings)
    if path is None:
        yield
        return
    content = _url(host, port).encode()
    try:
        with new_private_file(path, overwrite=True, remedy="set public_url") as write:
            write(content)
    except ConfigurationError as error:
        _log.warning("profiles may name another port: %s; set public_url", error.message)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_bytes() == content:  # else another gateway is the last one to have started
                path.unlink()


def reachable(settings: Settings) -> Settings:
    """The settings for a command: the configured `public_url`, or where a gateway runs or would run.

    Raises:
        ConfigurationError: The configured port is 0, and no gateway runs.
    """
    if _configured(settings):
        return settings
    running = _running(settings)
    if running is not None:
        return settings.model_copy(update={"public_url": running})
    if settings.server.port == 0:
        raise ConfigurationError(
            "the profile needs the gateway's address, and server.port 0 names none: "
            "set public_url, or start the gateway first"
        )
    return served_at(settings, settings.server.host, settings.server.port)


def _configured(settings: Settings) -> bool:
    return "public_url" in settings.model_fields_set


def _url(host: str, port: int) -> str:
    host = _ANY_HOST.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _file(settings: Settings) -> Path | None:
    """Where the address is kept; replicas with PostgreSQL have no common place, nor one address."""
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    return Path(database.target).with_suffix(".address") if database.dialect == "sqlite" else None


def _running(settings: Settings) -> str | None:
    path = _file(settings)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            text = os.fsdecode(file.read(_LONGEST)).strip()
        parts = urlsplit(text)
        # A gateway that was killed has left its file.
        socket.create_connection((parts.hostname or "", parts.port or 0), _CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return None
    return text
