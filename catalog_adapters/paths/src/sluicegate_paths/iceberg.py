"""Iceberg tables that no catalog keeps: which metadata file in a table's directory is the newest.

Source: Iceberg table specification, "File System Tables"; Iceberg's `HadoopTableOperations` and
`TableMetadataParser` for the names. Tables of a file system have `v3.metadata.json` (`.gz` before or
behind); tables that a catalog wrote have `00003-<uuid>.metadata.json`, where only the catalog knows
which of two writers' third versions counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import obstore

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
        name: Relative to the table's directory.
        tag: Another one where the table was created anew, and its files are numbered from one again.
    """

    name: str
    tag: str


def root_of(location: str) -> str | None:
    """The table's directory, where a location is one of a metadata file.

    Raises:
        ValueError: The file does not lie where it would tell its table.
    """
    around, _, name = location.rpartition("/")
    if _FILE.fullmatch(name) is None and not name.endswith(".metadata.json"):
        return None
    root, _, folder = around.rpartition("/")
    if folder != _FOLDER or root.count("/") < 3:
        raise ValueError("an Iceberg metadata file lies in the folder metadata/ of its table")
    return root


async def newest_metadata(directory: ObjectDirectory) -> MetadataFile | None:
    """The newest metadata file in a table's directory; `None` if there is none.

    Raises:
        TableUnreadable: There are several of the highest version.
    """
    # Everything from here on in a table of a file system: manifests and statistics come before "v".
    tags = await _listed(directory, offset="v")
    name = _newest(tags, "version")
    if name is None:
        tags = await _listed(directory)
        name = await _hinted(directory, tags) if _HINT in tags else None
        name = name or _newest(tags, "sequence")
    return None if name is None else MetadataFile(f"{_FOLDER}/{name}", tags[name])


async def _listed(directory: ObjectDirectory, offset: str | None = None) -> dict[str, str]:
    """Names in the metadata folder that matter, and what tells the files from others of these names."""
    folder = directory.key(_FOLDER)
    after = f"{folder}/{offset}" if offset else None
    tags: dict[str, str] = {}
    async for batch in obstore.list(directory.store, folder, offset=after, chunk_size=1000):
        for item in batch:
            name = item["path"].removeprefix(f"{folder}/")
            if name == _HINT or _FILE.fullmatch(name):
                tags[name] = f"{item['e_tag']} {item['size']} {item['last_modified'].isoformat()}"
    return tags


async def _hinted(directory: ObjectDirectory, names: Iterable[str]) -> str | None:
    """The file that the hint names, which some writers do in full."""
    answer = await obstore.get_async(directory.store, directory.key(f"{_FOLDER}/{_HINT}"))
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
            "knows which of them counts: ask the provider to share it through the catalog, or to name "
            "the metadata file",
            detail=", ".join(newest),
        )
    return newest[0]
