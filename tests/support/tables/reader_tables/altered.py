"""Reader tables as writers and clean-ups leave them: other protocols, spellings, logs, and files."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from support.tables.deltalog import Action, DeltaFolder
from support.tables.reader_tables.tables import ReaderTables, WrittenTable
from support.tables.reader_tables.weakened import WEAKENINGS, weaken

Texts = dict[str, str | None]

_FILES = ("add", "remove", "cdc")
_PLAIN = re.compile(r"true|false|-?\d+(\.\d+)?|\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?Z?)?")
_DECIMAL = re.compile(r"decimal\(\d+,\s*\d+\)")


@dataclass(frozen=True)
class Log:
    """The log of a table that has all of its commits."""

    folder: DeltaFolder
    commits: Sequence[Sequence[Action]]

    @classmethod
    def of(cls, table: Path) -> Log | None:
        """Read a log; `None` if commits are missing, or if files are not below the table."""
        folder = DeltaFolder(table)
        files = sorted(folder.log.glob("[0-9]*.json"))
        if [file.name for file in files] != [f"{version:020}.json" for version in range(len(files))]:
            return None
        log = cls(
            folder, [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
        )
        paths = [unquote(value["path"]) for _, value in log.files()]
        is_whole = bool(files) and not any(
            "://" in path or path.startswith(("/", "..")) for path in paths
        )
        return log if is_whole else None

    def files(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The actions of files, in order."""
        for commit in self.commits:
            for action in commit:
                yield from ((kind, action[kind]) for kind in _FILES if kind in action)

    def last(self, kind: str) -> dict[str, Any]:
        """The last action of a kind."""
        found: dict[str, Any] = [
            action[kind] for commit in self.commits for action in commit if kind in action
        ][-1]
        return found

    def live(self) -> list[dict[str, Any]]:
        """The `add` actions of the latest version."""
        kept: dict[tuple[str, str], dict[str, Any]] = {}
        for kind, value in self.files():
            key = value["path"], json.dumps(value.get("deletionVector"), sort_keys=True)
            if kind == "add":
                kept[key] = value
            elif kind == "remove":
                kept.pop(key, None)
        return list(kept.values())

    def write(self) -> None:
        """Write all commits again, and remove what repeats them."""
        for version, commit in enumerate(self.commits):
            self.folder.commit(version, *commit)
        self.remove_copies()

    def remove_copies(self) -> None:
        """Remove checkpoints, compacted commits and checksums."""
        for pattern in ("*.checkpoint*", "*.compacted.json", "_last_checkpoint", "*.crc"):
            for file in self.folder.log.glob(pattern):
                file.unlink()


def respell(table: Path, rng: random.Random) -> None:
    """Write partition values in other forms that Spark casts to the same values."""
    if (log := Log.of(table)) is None:
        return
    types = _partition_types(log.last("metaData"))
    for _, value in log.files():
        texts: Texts = value.get("partitionValues") or {}
        for key, text in texts.items():
            texts[key] = _respelled(types.get(key, ""), text, rng)
    log.write()


def vacuum(table: Path, _: random.Random) -> None:
    """Delete the Parquet files that the latest version does not need."""
    if (log := Log.of(table)) is None:
        return
    needed = {(table / unquote(each["path"])).resolve() for each in log.live()}
    for file in table.rglob("*.parquet"):
        if "_delta_log" not in file.parts and file.resolve() not in needed:
            file.unlink()


def clean(table: Path, _: random.Random) -> None:
    """Write a checkpoint of the latest version, and delete earlier commits, as Delta's cleanup does."""
    if (log := Log.of(table)) is None:
        return
    log.remove_copies()
    last = len(log.commits) - 1
    kept = [{kind: log.last(kind)} for kind in ("protocol", "metaData")]
    files = [{"add": each} for each in log.live()]
    log.folder.parquet(f"{last:020}.checkpoint.parquet", [*kept, *files])
    for version in range(last):
        (log.folder.log / f"{version:020}.json").unlink()


HARMLESS: Mapping[str, Callable[[Path, random.Random], None]] = {
    "respelled": respell,
    "vacuumed": vacuum,
    "cleaned": clean,
}
"""In the order in which they are applied. Spark reads the same rows after each of them."""


class AlteredTables(ReaderTables):
    """Writes tables, and then alters each one at random.

    Args:
        is_weakened: Whether protocols are weakened, too, so that readers can't rely on them.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        features: Mapping[str, Sequence[str]],
        *,
        is_weakened: bool = True,
    ) -> None:
        super().__init__(folder)
        self._seed, self._features, self._is_weakened = seed, features, is_weakened
        self.alterations: dict[str, list[str]] = {}
        """How each table was altered."""

    def table(self, name: str) -> WrittenTable:
        """A table by its name."""
        table = super().table(name)
        if name not in self.alterations:
            self.alterations[name] = list(self._altered(table))
        return table

    def _altered(self, table: WrittenTable) -> Iterator[str]:
        rng = random.Random(f"{self._seed} {table.name}")
        chosen = rng.sample(sorted(HARMLESS), rng.randint(0 if self._is_weakened else 1, len(HARMLESS)))
        if self._is_weakened and (not chosen or rng.random() < 0.5):
            needed = list(self._features[table.name]) or ["deletionVectors"]
            how = rng.choice(sorted(WEAKENINGS))
            weaken(table.location, WEAKENINGS[how](needed, rng.choice(needed)))
            yield how
        for how, alter in HARMLESS.items():
            if how in chosen:
                alter(table.location, rng)
                yield how


def _partition_types(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The types of partition columns, by their keys in partition values."""
    partitioned = set(metadata["partitionColumns"])
    fields = json.loads(metadata["schemaString"])["fields"]
    return {
        key: field["type"]
        for field in fields
        if field["name"] in partitioned
        for key in (field["name"], field["metadata"].get("delta.columnMapping.physicalName"))
        if key is not None
    }


def _respelled(kind: str, text: str | None, rng: random.Random) -> str | None:
    # Some tables have other forms already.
    if not text or kind in ("string", "binary") or not _PLAIN.fullmatch(text):
        return text
    return rng.choice(_spellings(kind, text))


def _spellings(kind: str, text: str) -> list[str]:
    if kind == "boolean":
        return [text.upper(), text.title(), text[0]]
    if kind in ("byte", "short", "integer", "long") and "." not in text:
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        return [f"{sign}0{digits}", text if sign else f"+{text}"]
    if _DECIMAL.fullmatch(kind):
        written = f"{Decimal(text):f}"
        return [f"{Decimal(text).normalize():f}", written + ("0" if "." in written else ".0")]
    if kind == "date":
        return [text, f"{text} "]
    if kind in ("timestamp", "timestamp_ntz"):
        return _spelled_moments(kind, text)
    return [text]


def _spelled_moments(kind: str, text: str) -> list[str]:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return [text]
    if moment.tzinfo is not None:
        return [text]
    zone = "Z" if kind == "timestamp" else ""
    return [moment.isoformat("T", "microseconds") + zone, moment.isoformat(" ", "microseconds")]
