"""Links of the gateway to the files that it generates for a view of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self
from uuid import NAMESPACE_URL, uuid5

from sluicegate.api import Presigned, Principal, SharedTable
from sluicegate.protocols.common.recipient_links import RecipientLink
from sluicegate.protocols.file_links import ContentLinks
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile
from sluicegate.signing.keyring import KeyRing

MANIFEST_LIST: Final = "~/manifest-list.avro"
"""The manifest list of the view's snapshot."""

_NUMBER = "(?:0|[1-9][0-9]{0,9})"
_METADATA = r"[0-9]{5,19}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.metadata\.json"
_GENERATED = re.compile(
    rf"~/(?:(?P<metadata>{_METADATA})|manifest-list\.avro|(?P<kind>manifest|vectors|deletes)-(?P<number>{_NUMBER})"
    r"\.(?:avro|puffin|parquet))"
)


def metadata_name(shared: SharedTable, version: int) -> str:
    """The name of the table's metadata, as `loadTable` returns it for the view's version.

    Engines such as ClickHouse read the number from it.
    """
    return f"~/{version:05d}-{uuid5(NAMESPACE_URL, shared.id)}.metadata.json"


def is_metadata(path: str) -> bool:
    """Whether a path is the name of a table's metadata."""
    match = _GENERATED.fullmatch(path)
    return match is not None and match["metadata"] is not None


def manifest_name(number: int) -> str:
    """The name of a manifest."""
    return f"~/manifest-{number}.avro"


def vectors_name(number: int) -> str:
    """The name of a Puffin file with deletion vectors that the table stores inline."""
    return f"~/vectors-{number}.puffin"


def deletes_name(number: int) -> str:
    """The name of a position delete file."""
    return f"~/deletes-{number}.parquet"


def is_generated(path: str) -> bool:
    """Whether a path is the name of a generated file, which no store has."""
    return _GENERATED.fullmatch(path) is not None


def numbered(name: str) -> tuple[str, int]:
    """The kind (`manifest`, `vectors` or `deletes`) and the number of a generated file.

    The metadata, the manifest list and other names have the kind `""`.
    """
    match = _GENERATED.fullmatch(name)
    if match is None or match["kind"] is None:
        return "", 0
    return match["kind"], int(match["number"])


# Takes the place of a storage name in other links; no storage can have this name.
SPACE: Final = "~iceberg"
_PURPOSE = "iceberg file links"


@dataclass(frozen=True, slots=True)
class GeneratedLink(RecipientLink):
    """The contents of a link.

    Attributes:
        issued_at: When the view's paths were issued, epoch seconds.
    """

    table_id: str
    version: int
    issued_at: int
    name: str

    @classmethod
    def of(cls, principal: Principal, shared: SharedTable, file: ProvenFile) -> Self:
        """The link to a generated file of a recipient's view."""
        names = (shared.share, shared.schema, shared.name, shared.id)
        moment = (file.version, file.issued_at)
        return cls(principal.id, principal.name, *names, *moment, file.path)


class GeneratedLinks:
    """Signs links."""

    def __init__(self, keys: KeyRing, base_url: str, lifetime: int) -> None:
        self._links = ContentLinks(link_keys(keys).signing, base_url, SPACE)
        self._lifetime = lifetime

    def sign(self, principal: Principal, shared: SharedTable, file: ProvenFile) -> Presigned:
        """The link to a generated file for a recipient."""
        return self._links.sign([GeneratedLink.of(principal, shared, file).path], self._lifetime)


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys for these links, which are not valid for other links."""
    return keys.derive(_PURPOSE)
