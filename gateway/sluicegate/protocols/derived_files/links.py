"""Links to derived files, which no store contains and the table's format generates when fetched.

Any process of the gateway can serve a link by running the steps of a query again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from sluicegate.api.models import Presigned
from sluicegate.protocols.common.recipient_links import RecipientLink
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.file_links import ContentLinks
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.derived_files import DerivedFile

# Takes the place of a storage name in other links; no storage can have this name.
SPACE: Final = "~derived"
_PURPOSE = "derived file links"


@dataclass(frozen=True, slots=True)
class DerivedLink(RecipientLink):
    """The contents of a link."""

    digest: str
    recipe: str

    @classmethod
    def of(cls, table: OpenTable, file: DerivedFile) -> Self:
        """The link to a file for the recipient of a response."""
        principal, shared = table.principal, table.shared
        names = (principal.id, principal.name, shared.share, shared.schema, shared.name)
        return cls(*names, file.digest, file.recipe)

    @property
    def file(self) -> DerivedFile:
        """The file."""
        return DerivedFile(self.digest, self.recipe)


class DerivedLinks:
    """Signs links to derived files.

    Args:
        keys: The gateway's keys.
        base_url: The gateway's public URL.
    """

    def __init__(self, keys: KeyRing, base_url: str) -> None:
        self._links = ContentLinks(link_keys(keys).signing, base_url, SPACE)

    def sign(self, table: OpenTable, files: Sequence[DerivedFile], expires_in: int) -> Presigned:
        """Links to files of an opened table for its recipient, in the order of `files`.

        Args:
            table: The table, opened for the recipient.
            files: Files that its format generates.
            expires_in: Lifetime in seconds.
        """
        return self._links.sign([DerivedLink.of(table, file).path for file in files], expires_in)


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys for these links, which are not valid for other links."""
    return keys.derive(_PURPOSE)
