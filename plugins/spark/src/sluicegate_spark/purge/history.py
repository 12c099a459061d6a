"""Reads from a table's metadata file the locations of all files that refer to other files.

Source: Iceberg specification, "Table Metadata Fields", "Snapshots", "Table Statistics".
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import obstore
import orjson
from obstore.exceptions import BaseError

from sluicegate.api import TaskFailed
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.failures import reason_of
from sluicegate_spark.objects import ObjectAccess

_GZIP = b"\x1f\x8b"
_WRITE_PATHS = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)
_METADATA = (".metadata.json", ".metadata.json.gz")


@dataclass(frozen=True, slots=True)
class History:
    """The parts of a metadata file that a purge needs. All locations are as written in the file."""

    table_uuid: str | None
    shared: bool
    manifest_lists: tuple[str, ...]
    manifests: tuple[str, ...]
    statistics: tuple[str, ...]
    previous: tuple[str, ...]
    write_paths: tuple[str, ...] = ()

    @property
    def files(self) -> Iterator[str]:
        """Return all files that the metadata file names directly."""
        yield from self.manifest_lists
        yield from self.manifests
        yield from self.statistics
        yield from self.previous


def parse_history(data: bytes) -> History:
    """Parse a metadata file, gzipped or not."""
    try:
        value = orjson.loads(gzip.decompress(data) if data[:2] == _GZIP else data)
        snapshots = value.get("snapshots") or ()
        properties = value.get("properties") or {}
        found = History(
            table_uuid=value.get("table-uuid"),
            shared=_is_shared(properties),
            manifest_lists=_named(snapshots, "manifest-list"),
            manifests=tuple(path for each in snapshots for path in each.get("manifests") or ()),
            statistics=(
                *_named(value.get("statistics") or (), "statistics-path"),
                *_named(value.get("partition-statistics") or (), "statistics-path"),
            ),
            previous=_named(value.get("metadata-log") or (), "metadata-file"),
            write_paths=tuple(properties[each] for each in _WRITE_PATHS if properties.get(each)),
        )
        if not all(isinstance(each, str) for each in (*found.files, *found.write_paths)):
            raise ValueError("a location is not a string")
        return found
    except (ValueError, TypeError, AttributeError, EOFError, OSError) as error:
        raise ValueError(f"not the metadata of a table: {error}") from error


def _is_shared(properties: Mapping[str, Any]) -> bool:
    return str(properties.get("gc.enabled", "true")).lower() == "false"


def _named(items: Iterable[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each[key] for each in items if each.get(key)))


async def read_history(objects: ObjectAccess, location: str) -> History | None:
    """Read a metadata file, or return `None` if it doesn't exist."""
    store, key = objects.open(literal_location(location))
    try:
        data = bytes(await (await obstore.get_async(store, key)).bytes_async())
        return parse_history(data)
    except FileNotFoundError:
        return None
    except (BaseError, OSError) as error:
        raise _unreadable(location, error) from error
    except ValueError as error:
        raise TaskFailed(
            f"the table's metadata file '{location}' is broken; nothing was deleted with this attempt",
            error_code="INVALID_PAYLOAD",
            detail=reason_of(error),
        ) from error


def check_unshared(history: History) -> None:
    """Ensure that the table's files belong to no other table."""
    if history.shared:
        raise TaskFailed(
            "the table's property gc.enabled is false, so its files may also belong to other "
            "tables; to delete them, set it to true",
            error_code="INVALID_PAYLOAD",
        )


async def metadata_files_in_folder(objects: ObjectAccess, location: str) -> list[str]:
    """Return the locations of all metadata files in the folder of a metadata file."""
    store, key = objects.open(literal_location(location))
    try:
        listing = await obstore.list_with_delimiter_async(store, key.rpartition("/")[0])
    except (BaseError, OSError) as error:
        raise _unreadable(location, error) from error
    names = (each["path"] for each in listing["objects"])
    root = literal_location(location).removesuffix(key)
    return sorted(f"{root}{name}" for name in names if name.endswith(_METADATA))


def _unreadable(location: str, error: Exception) -> TaskFailed:
    return TaskFailed(
        f"the table's metadata '{location}' cannot be read: its storage denies access or does not "
        "respond",
        error_code="STORAGE_FAILED",
        retryable=True,
        detail=reason_of(error),
    )
