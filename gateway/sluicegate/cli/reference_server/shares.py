"""Translates the shares of the reference server to a shares file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sluicegate.cli.reference_server.model import ServerConfig, TableConfig
from sluicegate.cli.reference_server.notes import Notes
from sluicegate.config.yaml import Location

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


@dataclass
class TranslatedShares:
    """The content of the shares file, and the storages that its tables need: type by prefix."""

    shares: dict[str, Any] = field(default_factory=dict)
    storages: dict[str, str] = field(default_factory=dict)


def translate_shares(config: ServerConfig, catalog: str, notes: Notes) -> TranslatedShares:
    """Translate all shares. Tables that cannot be translated are left out and noted."""
    return _Shares(catalog, notes).translate(config)


class _Shares:
    def __init__(self, catalog: str, notes: Notes) -> None:
        self._catalog = catalog
        self._notes = notes
        self._result = TranslatedShares()
        self._schemes: Counter[tuple[str, str]] = Counter()
        self._ids: set[UUID] = set()

    def translate(self, config: ServerConfig) -> TranslatedShares:
        for s, share in enumerate(config.shares):
            schemas: dict[str, Any] = {}
            for i, schema in enumerate(share.schemas):
                place: Location = ("shares", s, "schemas", i, "tables")
                found = (self._table(each, (*place, t)) for t, each in enumerate(schema.tables))
                schemas[schema.name] = {"tables": {name: entry for name, entry in found if entry}}
            self._result.shares[share.name] = {"schemas": schemas}
        self._summarize(config)
        return self._result

    def _table(self, table: TableConfig, place: Location) -> tuple[str, dict[str, Any] | None]:
        try:
            translated = translate_location(table.location)
        except ValueError as error:
            self._notes.add("untranslatable", (*place, "location"), str(error))
            return table.name, None
        self._result.storages.setdefault(translated.prefix, translated.storage)
        self._count(table, translated)
        entry: dict[str, Any] = {"catalog": self._catalog, "table": translated.location}
        if (known := self._id(table, place)) is not None:
            entry["id"] = known
        if table.history_shared or table.cdf_enabled:
            entry |= {"history": True, "change_feed": True}
        if table.start_version:
            entry["start_version"] = table.start_version
        return table.name, entry

    def _id(self, table: TableConfig, place: Location) -> str | None:
        if not table.id:
            return None
        try:
            known = UUID(table.id)
        except ValueError:
            self._drop_id(place, "it is not a UUID")
            return None
        if known in self._ids:
            self._drop_id(place, "an earlier table has the same id")
            return None
        self._ids.add(known)
        return str(known)

    def _drop_id(self, place: Location, why: str) -> None:
        self._notes.add("dropped", (*place, "id"), f"{why}; the table gets a new id")

    def _count(self, table: TableConfig, translated: Translated) -> None:
        before = table.location.strip().partition(":")[0].lower() if ":" in table.location else "file"
        self._schemes[before, translated.location.partition(":")[0]] += 1

    def _summarize(self, config: ServerConfig) -> None:
        schemas = sum(len(share.schemas) for share in config.shares)
        tables = sum(self._schemes.values())
        counts = f"shares: {len(config.shares)}, schemas: {schemas}, tables: {tables}"
        self._notes.add("translated", ("shares",), f"shares.yaml ({counts})")
        for (before, after), count in sorted(self._schemes.items()):
            if before != after:
                message = f"locations {before}: → {after}: (tables: {count})"
                self._notes.add("translated", ("shares",), message)
