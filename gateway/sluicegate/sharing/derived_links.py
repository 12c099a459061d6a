"""Links to derived files: what no store holds, made by the table's format when it is fetched.

A link has the shape of those of the content door, and is signed as they are. In place of a path it says
for whom it is, of which table as it is shared, and which file; no credential and nothing else that the
recipient does not know. So any process of the gateway can open it, by going the way of a query again.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final, Self

import orjson

from sluicegate.content import ContentLinks
from sluicegate.doors.resolve import OpenTable
from sluicegate.keyring import KeyRing
from sluicegate.nouns import Presigned
from sluicegate.tables.derived_files import DerivedFile

# Stands where other links name a storage; no storage is called so.
SPACE: Final = "~derived"
_PURPOSE = "derived file links"


@dataclass(frozen=True, slots=True)
class DerivedLink:
    """What a link says.

    Attributes:
        recipient_id: Of the recipient; another one of its name is not let in.
    """

    recipient_id: str
    recipient: str
    share: str
    schema: str
    table: str
    digest: str
    recipe: str

    @classmethod
    def of(cls, table: OpenTable, file: DerivedFile) -> Self:
        """The link to a file for the recipient of an answer."""
        principal, shared = table.principal, table.shared
        names = (principal.id, principal.name, shared.share, shared.schema, shared.name)
        return cls(*names, file.digest, file.recipe)

    @classmethod
    def parse(cls, path: str) -> Self:
        """Read what `path` wrote and the gateway has signed."""
        return cls(*orjson.loads(base64.urlsafe_b64decode(path + "=" * (-len(path) % 4))))

    @property
    def path(self) -> str:
        """The text that is signed, of characters that URLs take as they are."""
        return base64.urlsafe_b64encode(orjson.dumps(astuple(self))).decode().rstrip("=")

    @property
    def file(self) -> DerivedFile:
        """The file."""
        return DerivedFile(self.digest, self.recipe)


class DerivedLinks:
    """Signs links to derived files.

    Args:
        keys: The gateway's.
        base_url: Its public URL.
    """

    def __init__(self, keys: KeyRing, base_url: str) -> None:
        self._links = ContentLinks(link_keys(keys).signing, base_url, SPACE)

    def sign(self, table: OpenTable, files: Sequence[DerivedFile], expires_in: int) -> Presigned:
        """Links to files of an opened table for its recipient, in the order asked.

        Args:
            table: As it was opened for the recipient.
            files: What its format makes.
            expires_in: Lifetime in seconds.
        """
        return self._links.sign([DerivedLink.of(table, file).path for file in files], expires_in)


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys of these links, which are worth nothing for other ones."""
    return keys.derive(_PURPOSE)
