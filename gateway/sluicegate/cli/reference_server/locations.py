"""Translates locations of Hadoop file systems to those of the gateway's storages.

Source: Hadoop documentation of the connectors S3A, ABFS, WASB and GCS. Hadoop collapses
repeated slashes in paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLOUD = re.compile(
    r"(?P<scheme>[a-z0-9+.-]+)://(?P<authority>[^/]+)(?P<path>/.*|)", re.IGNORECASE | re.DOTALL
)
_LOCAL = re.compile(r"(?:file:(?://)?)?(?P<path>/[^/].*)", re.DOTALL)
_AZURE = re.compile(
    r"(?P<container>[^@]+)@(?P<account>[a-z0-9]{3,24})\.(?P<zone>z[0-9]+\.)?(?:dfs|blob)\."
    r"(?P<suffix>[a-z0-9.-]+)",
    re.IGNORECASE,
)
_SCHEMES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "azure"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Translated:
    """A location of the gateway."""

    location: str
    storage: str
    prefix: str


def translate_location(location: str) -> Translated:
    """Translate a table's location."""
    text = location.strip()
    if _UNPRINTABLE.search(text):
        raise ValueError("the location contains a control character")
    if (local := _LOCAL.fullmatch(text)) is not None:
        return _local(_path(local["path"]))
    match = _CLOUD.fullmatch(text)
    if match is None:
        raise ValueError("expected a location such as s3a://bucket/table")
    kind = _SCHEMES.get(match["scheme"].lower())
    if kind is None:
        known = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        raise ValueError(f"no storage serves the scheme {match['scheme'][:20]}://; known: {known}")
    root = _azure(match["authority"]) if kind == "azure" else _bucket(kind, match["authority"])
    return Translated(root + _path(match["path"]), kind, f"{root}/")


def _bucket(kind: str, authority: str) -> str:
    if "@" in authority:
        raise ValueError(
            "the location contains credentials: remove them, and configure them for the storage"
        )
    return f"{'gs' if kind == 'gcs' else kind}://{authority}"


def _azure(authority: str) -> str:
    match = _AZURE.fullmatch(authority)
    if match is None:
        raise ValueError("expected container and account: abfss://container@account.dfs.….net/table")
    zone, suffix = (match["zone"] or "").lower(), match["suffix"].lower()
    return f"abfss://{match['container']}@{match['account'].lower()}.{zone}dfs.{suffix}"


def _local(path: str) -> Translated:
    around = path.rpartition("/")[0]
    if not around:
        raise ValueError("a table in the root directory cannot be served: move it to a directory")
    return Translated(f"file://{path}", "file", f"file://{around}/")


def _path(path: str) -> str:
    compact = re.sub("/+", "/", path).rstrip("/")
    if {".", ".."} & set(compact.split("/")):
        raise ValueError("a location cannot contain the segments '.' and '..'")
    return compact
