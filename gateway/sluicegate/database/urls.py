"""Parses database URLs into the driver, its target, and a form for messages without password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from sluicegate.api.errors import ConfigurationError

_POSTGRESQL = re.compile(r"postgres(?:ql)?(?:\+asyncpg)?://")
_SQLITE = re.compile(r"sqlite(?:\+aiosqlite)?:///")
_HELP = "use sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A checked database URL."""

    dialect: str
    target: str = field(repr=False)
    shown: str

    @classmethod
    def parse(cls, url: str) -> DatabaseUrl:
        """Check a URL and that its driver is installed."""
        if _POSTGRESQL.match(url):
            return _postgresql(url)
        if _SQLITE.match(url):
            return _sqlite(_SQLITE.sub("", url))
        # The message contains only the scheme, because the rest may contain a password.
        scheme = url.partition(":")[0] if ":" in url else ""
        raise ConfigurationError(f"the database URL has an unknown scheme '{scheme}': {_HELP}")


def _sqlite(file: str) -> DatabaseUrl:
    if file in ("", ":memory:") or "?" in file:
        raise ConfigurationError(f"the database URL must name a file: {_HELP}")
    if not Path(file).absolute().parent.is_dir():
        raise ConfigurationError(f"the directory of the database sqlite:///{file} does not exist")
    return DatabaseUrl("sqlite", file, f"sqlite:///{file}")


def _postgresql(url: str) -> DatabaseUrl:
    if find_spec("asyncpg") is None:
        raise ConfigurationError(
            "PostgreSQL needs a driver that is not installed: pip install 'sluicegate[postgresql]'"
        )
    plain = _POSTGRESQL.sub("postgresql://", url)
    return DatabaseUrl("postgresql", plain, _without_secrets(plain))


def _without_secrets(url: str) -> str:
    """Return the URL's host and database, or only its scheme if a password makes the URL ambiguous."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        clean = "@" not in parts.path + parts.query + parts.fragment and parts.port != 0
    except ValueError:
        clean = False
    return f"postgresql://{host}{parts.path}" if clean else "postgresql://…"
