"""Reads a shares file, and checks references between names, which its models can't check."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sluicegate.access.shares_file.models import Declaration
from sluicegate.api.errors import ConfigurationError
from sluicegate.config.yaml import Document, Location, nearest, read_document, validate
from sluicegate.database.names import name_key


@dataclass(frozen=True, slots=True)
class SharesFile:
    """A checked shares file, and the positions of its parts."""

    declaration: Declaration
    document: Document


def read_shares_file(path: Path, catalogs: Collection[str]) -> SharesFile:
    """Read a shares file."""
    return check_shares_file(read_document(path), catalogs)


def check_shares_file(document: Document, catalogs: Collection[str]) -> SharesFile:
    """Check a shares file that was read."""
    declaration = validate(Declaration, document)
    problems = [
        *_repeated(document, ("shares",), declaration.shares),
        *_repeated(document, ("recipients",), declaration.recipients),
        *_problems_in_shares(document, declaration, sorted(catalogs)),
    ]
    if problems:
        raise ConfigurationError("\n".join(problems))
    return SharesFile(declaration, document)


def _problems_in_shares(
    document: Document, declaration: Declaration, catalogs: list[str]
) -> Iterator[str]:
    for share, entry in declaration.shares.items():
        place: Location = ("shares", share, "schemas")
        if entry.source:
            yield from _unknown(document, ("shares", share, "from"), entry.source.catalog, catalogs)
        yield from _repeated(document, place, entry.schemas)
        for name, schema in entry.schemas.items():
            inner = (*place, name)
            yield from _repeated(document, (*inner, "tables"), schema.tables)
            if schema.source:
                yield from _unknown(document, (*inner, "from"), schema.source.catalog, catalogs)
            for table, source in schema.tables.items():
                yield from _unknown(document, (*inner, "tables", table), source.catalog, catalogs)
            for kind, assets in schema.assets.items():
                yield from _repeated(document, (*inner, f"{kind}s"), assets)
                for asset, declared in assets.items():
                    at = (*inner, f"{kind}s", asset)
                    yield from _unknown(document, at, declared.catalog, catalogs)


def _unknown(document: Document, place: Location, catalog: str, known: list[str]) -> Iterator[str]:
    if catalog not in known:
        message = f"there is no catalog '{catalog}' in the configuration{nearest(catalog, known)}"
        yield document.problem((*place, "catalog"), message)


def _repeated(document: Document, place: Location, names: Iterable[str]) -> Iterator[str]:
    """Report names that occur twice. Names are case-insensitive."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(name_key(name), name)
        if first is not name:
            message = f"'{name}' and '{first}' are the same name: names are case-insensitive"
            yield document.problem((*place, name), message, key=True)
