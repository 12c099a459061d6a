"""Applies the result of an import to the configured database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.imported_tokens import ImportedToken, import_token
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.diff import Difference, render
from sluicegate.access.shares_file.read import check_shares_file
from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.trail import note_changes
from sluicegate.cli.database import open_store
from sluicegate.cli.management.recorded import RecordedChanges
from sluicegate.cli.reference_server.files import yaml_text
from sluicegate.cli.reference_server.translate import Names, Translation
from sluicegate.config.yaml import parse_document

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.database.async_engine import AsyncConnection


@dataclass(frozen=True, slots=True)
class Applied:
    """What was applied, or would be: then, there is no token."""

    difference: Difference
    token: ImportedToken | None


async def apply_translation(
    settings: Settings,
    translation: Translation,
    names: Names,
    lifetime: int,
    *,
    dry_run: bool,
    removes: bool,
) -> Applied:
    """Apply shares, recipient, grants and token in one transaction."""
    section = settings.catalogs.get(names.catalog)
    if section is not None and section.type != "paths":
        raise ConfigurationError(
            f"the catalog '{names.catalog}' is of type '{section.type}', but the tables need one of "
            "type 'paths': add it to the configuration, and select it with --catalog"
        )
    document = parse_document(yaml_text(translation.shares), Path("imported shares"))
    shares = check_shares_file(document, settings.catalogs)
    imported: list[ImportedToken] = []

    async def also(connection: AsyncConnection) -> None:
        imported.append(
            await import_token(connection, names.recipient, translation.token, lifetime, epoch_ms())
        )

    async with open_store(settings) as store:
        difference = await apply_shares_file(store, shares, dry_run=True)
        if not dry_run:
            _check_removals(difference, removes=removes)
            async with AsyncExitStack() as stack:
                changes = RecordedChanges(settings, store, stack)
                async with changes.recorded("importReferenceServer", {}):
                    difference = await apply_shares_file(store, shares, expected=difference, also=also)
                    note_changes(_lines(difference, names.recipient))
    return Applied(difference, imported[0] if imported else None)


def _lines(difference: Difference, recipient: str) -> Iterator[str]:
    """The changes that were made, as lines of the audit log."""
    if difference.changes:
        yield from render(Difference(difference.changes, ()))
    yield f"+ imported token of recipient {recipient}"


def _check_removals(difference: Difference, *, removes: bool) -> None:
    removed = sum(change.after is None for change in difference.changes)
    if removed and not removes:
        raise ConfigurationError(
            f"the import would remove entries from the database, {removed} in total: see them with "
            "--dry-run, and use --force to remove them"
        )
