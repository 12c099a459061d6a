"""Files of `_delta_log` by their names (Delta protocol, "File Types")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from sluicegate.api.errors import TableUnreadable
from sluicegate.api.models import CatalogCommit

Kind = Literal["commit", "compaction", "checkpoint"]

_COMMIT = re.compile(r"(?P<version>\d{20})\.json")
_COMPACTION = re.compile(r"(?P<version>\d{20})\.(?P<last>\d{20})\.compacted\.json")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint"
    r"(\.(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet|\.(?P<unique>[^./]+)\.(json|parquet)|\.parquet)"
)
_KINDS: Sequence[tuple[Kind, re.Pattern[str]]] = (
    ("commit", _COMMIT),
    ("compaction", _COMPACTION),
    ("checkpoint", _CHECKPOINT),
)
_NOT_PLAIN = re.compile(r"[/\x00-\x1f\x7f]")
_LONGEST_NAME = 1024
_LAST_VERSION = (1 << 63) - 1  # a Java `long`; twenty digits can exceed it


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of the log. It is no longer equal after a file of the same name replaced it.

    Attributes:
        part: Number of this part of a multi-part checkpoint, from 1.
        modified: Epoch milliseconds.
    """

    name: str
    kind: Kind
    version: int
    last: int
    size: int
    modified: int
    e_tag: str | None = None
    part: int = 1
    parts: int = 1


def log_file(name: str, size: int, modified: int, e_tag: str | None) -> LogFile | None:
    """The file for a name in `_delta_log`. `None` for names that readers ignore."""
    for kind, pattern in _KINDS:
        if match := pattern.fullmatch(name):
            groups = match.groupdict()
            version = int(groups["version"])
            last = int(groups.get("last") or version)
            if last > _LAST_VERSION or (kind == "compaction" and last <= version):
                return None
            return LogFile(
                name=name,
                kind=kind,
                version=version,
                last=last,
                size=size,
                modified=modified,
                e_tag=e_tag,
                part=int(groups.get("part") or 1),
                parts=int(groups.get("parts") or 1),
            )
    return None


def staged_commit(commit: CatalogCommit) -> LogFile:
    """A commit that the catalog has ratified (Delta protocol, "Catalog-managed tables")."""
    return LogFile(
        name=f"_staged_commits/{commit.file_name}",
        kind="commit",
        version=commit.version,
        last=commit.version,
        size=commit.size,
        modified=commit.timestamp,
    )


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file with a part of a v2 checkpoint's file actions. `name` is relative to `_delta_log`."""

    name: str
    size: int


def sidecar_of(action: Mapping[str, Any]) -> Sidecar:
    """The value of a `sidecar` action. Regardless of its path, the file is in `_sidecars/`."""
    name = unquote(action["path"].rsplit("/", 1)[-1])
    if name in ("", ".", "..") or len(name) > _LONGEST_NAME or _NOT_PLAIN.search(name):
        raise TableUnreadable("the Delta log names a sidecar without a plain file name")
    return Sidecar(f"_sidecars/{name}", int(action["sizeInBytes"]))


def version_prefix(version: int) -> str:
    """The prefix of the names of a version's files, which sorts directly before them."""
    return f"{version:020}"
