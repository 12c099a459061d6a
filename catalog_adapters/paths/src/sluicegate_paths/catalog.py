"""A catalog of tables that are named by location, with folders of tables as schemas."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio
from obstore.exceptions import BaseError

from sluicegate.api import (
    AssetKind,
    Catalog,
    CatalogAsset,
    CatalogTable,
    ConfigurationError,
    ModelVersion,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    PluginContext,
    TableUnreadable,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_paths.config import PathsConfig
from sluicegate_paths.folders import NamedFolders, SchemaFolders, is_plain_name, normalised
from sluicegate_paths.iceberg import MetadataFile, newest_metadata, root_of

_LONGEST: Final = 18  # digits of a version number


def asset_at(location: str) -> CatalogAsset:
    """Return the asset at a location."""
    return CatalogAsset(str(uuid.uuid5(uuid.NAMESPACE_URL, location)), location)


def versions_at(location: str, folders: Iterable[str]) -> list[ModelVersion]:
    """Return the versions of the model at a location, ascending."""
    numbers = sorted(int(name) for name in folders if _is_number(name))
    return [ModelVersion(number, "READY", f"{location}/{number}") for number in numbers]


def _is_number(name: str) -> bool:
    if not (name.isascii() and name.isdecimal()) or len(name) > _LONGEST:
        return False
    return name == str(int(name))


# After this time, a table that was created again in the other format is detected.
_DELTA_FOR_SECONDS = 300.0
_KNOWN = 10_000


def delta_table(location: str) -> CatalogTable:
    """Return the Delta table at a location."""
    return CatalogTable(_id(location), "delta", location)


def iceberg_table(location: str, newest: MetadataFile) -> CatalogTable:
    """Return the Iceberg table at a location."""
    metadata = f"{location}/{newest.name}"
    return CatalogTable(
        _id(location), "iceberg", location, metadata_location=metadata, metadata_tag=newest.tag
    )


def pinned_table(location: str, metadata: str) -> CatalogTable:
    """Return the Iceberg table at a location, pinned to one of its metadata files."""
    return CatalogTable(_id(metadata), "iceberg", location, metadata_location=metadata)


async def is_delta(directory: ObjectDirectory) -> bool:
    """Return whether a directory contains a Delta log."""
    async for _ in directory.store.list(directory.key("_delta_log"), chunk_size=1):
        return True
    return False


async def is_table(directory: ObjectDirectory) -> bool:
    """Return whether a directory contains a table of either format, even an ambiguous Iceberg table."""
    try:
        return await is_delta(directory) or await newest_metadata(directory) is not None
    except TableUnreadable:
        return True


class KnownDelta:
    """Locations with a known Delta log, which are not checked again for a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, location: str) -> None:
        """Add a location."""
        if len(self._until) >= _KNOWN:
            self._until.clear()
        self._until[location] = self._clock() + _DELTA_FOR_SECONDS

    def __contains__(self, location: str) -> bool:
        return self._clock() < self._until.get(location, 0.0)


def _id(location: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, location))


_CONCURRENT_PROBES = 16


class PathsCatalog(Catalog):
    """A catalog without a service. A table's identifier is its location."""

    def __init__(self, config: PathsConfig, context: PluginContext) -> None:
        self._entries = [SchemaFolders.parse(*entry) for entry in config.schemas.items()]
        # For a schema that is configured by its full name, only its own entry applies.
        self._entries.sort(key=lambda entry: "*" in entry.name)
        self._context = context
        self._delta = KnownDelta()

    async def list_schemas(self) -> list[str]:
        """Return names of the configured folders, and of those that currently match a `*`, sorted."""
        found: set[str] = set()
        for entry in self._entries:
            folders = entry.schemas
            if folders is None:
                found.add(entry.name)
            else:
                with self._listing(f"schemas '{entry.name}'"):
                    names = await _subfolders(await self._context.open(folders.around))
                found |= {entry.schema(name) for name in names if is_plain_name(name)}
        return sorted(found)

    async def list_tables(self, schema: str) -> list[str]:
        """Return names of the folder's subfolders that contain a table, sorted."""
        folders = self._tables(schema)
        with self._listing(f"schema '{schema}'"):
            names = await _subfolders(await self._context.open(folders.around))
            limiter = anyio.CapacityLimiter(_CONCURRENT_PROBES)
            found = await asyncio.gather(
                *(self._is_table(folders.location(name), limiter) for name in names)
            )
        return [name for name, is_one in zip(names, found, strict=True) if is_one]

    def identifier(self, schema: str, table: str) -> str:
        """Return the location of a listed table."""
        return self._tables(schema).location(table)

    async def load_table(self, identifier: str) -> CatalogTable:
        """Return the table at a location: a directory, or an Iceberg metadata file.

        After a Delta log was seen at a location, the check is skipped for some minutes. If no table
        is found, the error is raised when the log is read.
        """
        try:
            location = normalised(identifier)
            root = root_of(location)
        except ValueError as error:
            raise NotFound(
                f"the table's identifier is not a valid location: {error}", detail=identifier
            ) from error
        if root is not None:
            return pinned_table(root, location)
        if location in self._delta:
            return delta_table(location)
        with _store_errors("the table's storage does not respond; try again later"):
            return await self._found(location)

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        """Return the asset at a location. The store isn't queried."""
        return asset_at(_location_of(kind, identifier))

    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        """Return the versions of the model at a location: its folders that are named by a number."""
        location = _location_of("model", identifier)
        with _store_errors("the model's storage does not respond; try again later"):
            return versions_at(location, await _subfolders(await self._context.open(location)))

    async def _found(self, location: str) -> CatalogTable:
        directory = await self._context.open(location)
        if await is_delta(directory):
            self._delta.add(location)
        elif (newest := await newest_metadata(directory)) is not None:
            return iceberg_table(location, newest)
        return delta_table(location)

    def _tables(self, schema: str) -> NamedFolders:
        found = _first(entry.tables(schema) for entry in self._entries)
        if found is None:
            raise NotFound(f"catalog '{self._context.name}' has no schema '{schema}'")
        return found

    async def _is_table(self, location: str, limiter: anyio.CapacityLimiter) -> bool:
        async with limiter:
            try:
                return await is_table(await self._context.open(location))
            except (PermissionDenied, UnsupportedOperation):
                return False

    @contextmanager
    def _listing(self, what: str) -> Iterator[None]:
        place = f"{what} of catalog '{self._context.name}'"
        try:
            with _store_errors(f"{place} cannot be listed now; try again later"):
                yield
        except ConfigurationError as error:
            raise Unavailable(
                f"no configured storage serves {place}: add a storage whose prefix contains its folder",
                detail=error.detail,
            ) from error


def _location_of(kind: AssetKind, identifier: str) -> str:
    try:
        return normalised(identifier)
    except ValueError as error:
        raise NotFound(
            f"the {kind}'s identifier is not a valid location: {error}", detail=identifier
        ) from error


@contextmanager
def _store_errors(message: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        raise Unavailable(message, detail=str(error)) from error


def _first(found: Iterable[NamedFolders | None]) -> NamedFolders | None:
    return next((each for each in found if each is not None), None)


async def _subfolders(directory: ObjectDirectory) -> list[str]:
    """Return names of the folders directly in a directory, sorted."""
    listed = await directory.store.list_with_delimiter_async(directory.prefix or None)
    return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in listed["common_prefixes"])
