"""Finds the newest metadata file of Iceberg tables without a catalog.

Source: Iceberg specification, "File System Tables"; Iceberg documentation and source,
`HadoopTableOperations` and `TableMetadataParser`, for the names.

File system tables have `v3.metadata.json` (with `.gz` before or after). Tables written through a
catalog have `00003-<uuid>.metadata.json`; if two writers wrote a third version, only the catalog
knows which one is current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sluicegate.api import ObjectDirectory, TableUnreadable

_FOLDER = "metadata"
_HINT = "version-hint.text"
_FILE = re.compile(
    r"(?P<stem>v(?P<version>\d+)|(?P<sequence>\d+)-[^/]+?)(?:\.gz)?\.metadata\.json(?:\.gz)?"
)


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A metadata file.

    Attributes:
        tag: Changes if the table is dropped and created again, when numbering of its files restarts.
    """

    name: str
    tag: str


def root_of(location: str) -> str | None:
    """Return the table's directory if a location is that of a metadata file."""
    around, _, name = location.rpartition("/")
    if _FILE.fullmatch(name) is None and not name.endswith(".metadata.json"):
        return None
    root, _, folder = around.rpartition("/")
    if folder != _FOLDER or root.count("/") < 3:
        raise ValueError("an Iceberg metadata file must be in the folder metadata/ of its table")
    return root


async def newest_metadata(directory: ObjectDirectory) -> MetadataFile | None:
    """Return the newest metadata file in a table's directory; `None` if there is none."""
    # Start of the listing in a file system table: manifests and statistics sort before "v".
    tags = await _listed(directory, offset="v")
    name = _newest(tags, "version")
    if name is None:
        tags = await _listed(directory)
        name = await _hinted(directory, tags) if _HINT in tags else None
        name = name or _newest(tags, "sequence")
    return None if name is None else MetadataFile(f"{_FOLDER}/{name}", tags[name])


async def _listed(directory: ObjectDirectory, offset: str | None = None) -> dict[str, str]:
    """Return relevant names in the metadata folder, with tags that change when a file is replaced."""
    folder = directory.key(_FOLDER)
    after = f"{folder}/{offset}" if offset else None
    tags: dict[str, str] = {}
    async for batch in directory.store.list(folder, offset=after, chunk_size=1000):
        for item in batch:
            name = item["path"].removeprefix(f"{folder}/")
            if name == _HINT or _FILE.fullmatch(name):
                tags[name] = f"{item['e_tag']} {item['size']} {item['last_modified'].isoformat()}"
    return tags


async def _hinted(directory: ObjectDirectory, names: Iterable[str]) -> str | None:
    """Return the file that the version hint names; some writers store the full name."""
    answer = await directory.store.get_async(directory.key(f"{_FOLDER}/{_HINT}"))
    hint = bytes(await answer.bytes_async()).decode(errors="replace").strip()
    named = (match for name in names if (match := _FILE.fullmatch(name)))
    return next((match[0] for match in named if match["stem"] == hint), None)


def _newest(names: Iterable[str], numbered_by: str) -> str | None:
    numbers = [
        (int(match[numbered_by]), name)
        for name in names
        if (match := _FILE.fullmatch(name)) and match[numbered_by] is not None
    ]
    if not numbers:
        return None
    highest = max(numbers)[0]
    newest = [name for number, name in numbers if number == highest]
    if len(newest) > 1:
        raise TableUnreadable(
            f"the table has {len(newest)} metadata files of version {highest}, and only its catalog "
            "knows which of them is current: ask the provider to share the table through the "
            "catalog, or to share the location of the metadata file",
            detail=", ".join(newest),
        )
    return newest[0]
