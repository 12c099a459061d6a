"""Rejects secrets in files that every user of the machine can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretBytes, SecretStr

from sluicegate.config.source import Source
from sluicegate.config.yaml import Location


class SecretInUrl:
    """Marks a field whose value is a URL, of which only the password is a secret."""


def exposed_secrets(model: BaseModel, source: Source, root: Location = ()) -> list[str]:
    """Return a line `file:line:column: message` for each secret that any user can read.

    Args:
        model: Settings, or the section of a plugin.
        source: The source of the values.
        root: Location of the model in the document of the source.
    """
    if not source.on_disk:
        return []
    found = ((location, _exposure(location, source)) for location in _secrets(model, root))
    return [source.document.problem(location, message) for location, message in found if message]


def world_readable(path: Path) -> bool:
    """Whether users outside of the file's group can read it."""
    return os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)


def _exposure(location: Location, source: Source) -> str | None:
    if not _stands_in(source.document.data, location):
        return None
    reference = source.references.get(location)
    if reference is not None and reference.kind == "env":
        return None
    path = source.document.path if reference is None else Path(reference.target)
    if not world_readable(path):
        return None
    if reference is None:
        remedy = f"chmod o-r {path}, or write {{env: NAME}} or {{file: PATH}}"
        return f"the file contains a secret, and every user can read it: {remedy}"
    return f"every user can read the file of this secret: chmod o-r {path}"


def _secrets(value: Any, location: Location) -> Iterator[Location]:
    """Locations of the secrets in a validated value."""
    if isinstance(value, SecretStr | SecretBytes):
        yield location
    elif isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            inner = getattr(value, name)
            if any(isinstance(mark, SecretInUrl) for mark in info.metadata) and not _has_password(
                inner
            ):
                continue
            yield from _secrets(inner, (*location, info.alias or name))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets(inner, (*location, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _secrets(inner, (*location, index))


def _has_password(url: SecretStr) -> bool:
    parts = urlsplit(url.get_secret_value())
    return parts.password is not None or "password=" in parts.query


def _stands_in(data: Any, location: Location) -> bool:
    """Whether the document contains the value, and it is not a default."""
    for part in location:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True
