"""Links of the gateway to the files that it generates for a view of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from sluicegate.api import Presigned, Principal, SharedTable
from sluicegate.protocols.common.recipient_links import RecipientLink
from sluicegate.protocols.file_links import ContentLinks
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile
from sluicegate.signing.keyring import KeyRing

# Takes the place of a storage name in other links; no storage can have this name.
SPACE: Final = "~iceberg"
_PURPOSE = "iceberg file links"


@dataclass(frozen=True, slots=True)
class GeneratedLink(RecipientLink):
    """The contents of a link.

    Attributes:
        table_id: The shared table's id. Another table with the same name is rejected.
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
    """Signs links.

    Args:
        keys: The gateway's keys.
        base_url: The gateway's public URL.
        lifetime: Lifetime of links in seconds.
    """

    def __init__(self, keys: KeyRing, base_url: str, lifetime: int) -> None:
        self._links = ContentLinks(link_keys(keys).signing, base_url, SPACE)
        self._lifetime = lifetime

    def sign(self, principal: Principal, shared: SharedTable, file: ProvenFile) -> Presigned:
        """The link to a generated file for a recipient."""
        return self._links.sign([GeneratedLink.of(principal, shared, file).path], self._lifetime)


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys for these links, which are not valid for other links."""
    return keys.derive(_PURPOSE)
