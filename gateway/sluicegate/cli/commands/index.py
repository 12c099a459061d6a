"""`sluicegate index`: builds, lists, and removes snapshot indexes of large tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import click

from sluicegate._util.clock import iso_utc
from sluicegate.api.errors import ConfigurationError, NotFound
from sluicegate.cli.completion import complete_catalogs
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.output import columns, json_option, print_json
from sluicegate.cli.terminal import report

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.plugins import Instances
    from sluicegate.tables.snapshot_index.folder import IndexFolder
    from sluicegate.tables.snapshot_index.writing.building import BuiltIndex, IndexBuild

_HEADER = ("LOCATION", "VERSION", "FILES", "PARTS", "BYTES", "BUILT")


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(index)


@click.group()
def index() -> None:
    """Build, list, or remove snapshot indexes, with which large tables are read in part.

    \b
    Example:
      sluicegate index build lake sales.orders
    """


@index.command()
@click.argument("catalog", shell_complete=complete_catalogs())
@click.argument("table")
@click.option("--full", is_flag=True, help="Write all parts, even if there is an index.")
@json_option
@click.pass_context
def build(ctx: click.Context, /, catalog: str, table: str, full: bool, as_json: bool) -> None:
    """Build the index of the newest version of a TABLE of a CATALOG.

    TABLE is the identifier that `sluicegate tables` prints. If the table has an index of an earlier
    version, the command applies later commits to it, and writes only the parts that changed. Otherwise,
    or with `--full`, it sorts all files of the table in temporary files, up to 0.6 GB for each million.
    `limits.table` does not apply. The gateway uses the previous index until the new one is
    complete, and finds the new one within a minute.

    \b
    Examples:
      sluicegate index build lake sales.orders
      sluicegate index build raw s3://bucket/orders --full --json
    """
    built = run_async(_build(load_settings(ctx), catalog, table, full))
    index, written = built.index, built.index.parts - built.kept
    if as_json:
        further = {"written_parts": written, "kept_parts": built.kept, "full_build": built.reason}
        print_json(_row(index) | further)
        return
    manifest = index.manifest
    click.echo(
        f"indexed version {manifest.version} of {manifest.location}: {manifest.files} files in "
        f"{index.parts} parts, {index.bytes} bytes"
    )
    reason = f", because {built.reason}" if built.reason else ""
    click.echo(f"{written} parts were written, and {built.kept} were kept{reason}")


@index.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, /, as_json: bool) -> None:
    """List the indexes in the configured folder.

    \b
    Examples:
      sluicegate index list
      sluicegate index list --json
    """
    found = [_row(each) for each in run_async(_list(load_settings(ctx)))]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no indexes found", err=True)
        return
    for line in columns(_HEADER, [[str(value) for value in row.values()] for row in found]):
        click.echo(line)


@index.command()
@click.argument("location")
@json_option
@click.pass_context
def drop(ctx: click.Context, /, location: str, as_json: bool) -> None:
    """Remove the index of the table at a LOCATION. The table is then read from its log.

    If the index cannot be used, name it by the key that `sluicegate index list` reports.

    \b
    Example:
      sluicegate index drop s3://bucket/orders
    """
    removed = run_async(_drop(load_settings(ctx), location))
    if as_json:
        print_json({"location": location, "removed_files": removed})
        return
    click.echo(f"removed {removed} files of the index of {location}")


@dataclass(frozen=True, slots=True)
class _Opened:
    instances: Instances
    folder: IndexFolder


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[_Opened]:
    """The configured plugins, and the folder of the indexes."""
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.context import NoLinks
    from sluicegate.signing.load import load_keys
    from sluicegate.tables.snapshot_index.opening import open_folder

    location = settings.index.location
    if location is None:
        raise ConfigurationError(
            "no folder for indexes is configured: set index.location in the configuration"
        )
    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    try:
        yield _Opened(
            instances, await open_folder(location, load_keys(settings), instances.open_location)
        )
    finally:
        await instances.aclose()
        await registry.aclose()


async def _build(settings: Settings, catalog: str, name: str, full: bool) -> IndexBuild:
    from sluicegate.tables.reading.memory import return_freed_memory
    from sluicegate.tables.snapshot_index.writing.building import build_index, check_format

    return_freed_memory()
    async with _opened(settings) as opened:
        table = await opened.instances.catalog(catalog).load_table(name)
        check_format(table, name)
        directory = await opened.instances.open_location(table.location)
        return await build_index(
            opened.folder, table, directory, full=full, min_files=settings.index.min_files
        )


async def _list(settings: Settings) -> list[BuiltIndex]:
    async with _opened(settings) as opened:
        return await anyio.to_thread.run_sync(_listed, opened.folder)


def _listed(folder: IndexFolder) -> list[BuiltIndex]:
    from sluicegate.tables.snapshot_index.failures import IndexUnusable
    from sluicegate.tables.snapshot_index.writing.building import described

    found = []
    for key in folder.tables():
        try:
            found.append(described(folder, key))
        except IndexUnusable as error:
            report("warning", f"the index {key} cannot be used: {error}")
    return sorted(found, key=lambda each: each.manifest.location)


async def _drop(settings: Settings, location: str) -> int:
    async with _opened(settings) as opened:
        return await anyio.to_thread.run_sync(_dropped, opened.folder, location)


def _dropped(folder: IndexFolder, location: str) -> int:
    keys = [
        key
        for key in folder.tables()
        if location == key or _location(folder, key) == location.rstrip("/")
    ]
    if not keys:
        raise NotFound(f"there is no index of {location}: see `sluicegate index list`")
    return sum(map(folder.remove, keys))


def _location(folder: IndexFolder, key: str) -> str | None:
    from sluicegate.tables.snapshot_index.failures import IndexUnusable

    try:
        manifest = folder.manifest(key)
    except IndexUnusable:
        return None
    return None if manifest is None else manifest.location.rstrip("/")


def _row(built: BuiltIndex) -> dict[str, Any]:
    manifest = built.manifest
    return {
        "location": manifest.location,
        "version": manifest.version,
        "files": manifest.files,
        "parts": built.parts,
        "bytes": built.bytes,
        "built": iso_utc(manifest.built),
    }
