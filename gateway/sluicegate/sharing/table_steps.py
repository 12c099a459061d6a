"""The steps of requests about one table, put together.

Whoever imports this module loads Arrow, and all that reads tables and encodes answers about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sluicegate.config import Settings
from sluicegate.doors.resolve import Resolver
from sluicegate.doors.tokens import TokenSigner
from sluicegate.keyring import KeyRing
from sluicegate.registry import Instances
from sluicegate.sharing.answers import TableAnswers
from sluicegate.sharing.change_range import ChangeRanges
from sluicegate.sharing.changes import ChangeAnswers
from sluicegate.sharing.continuation import Continuations
from sluicegate.sharing.derived_links import DerivedLinks
from sluicegate.sharing.directory import DirectoryAccess
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.view import Viewer
from sluicegate.tables.memory import return_freed_memory
from sluicegate.tables.reader import TableReader
from sluicegate.vending import Vending


@dataclass(frozen=True, slots=True)
class TableSteps:
    """What answers requests about one table."""

    viewer: Viewer
    answers: TableAnswers
    changes: ChangeAnswers

    @classmethod
    def build(
        cls,
        settings: Settings,
        keys: KeyRing,
        *,
        pages: TokenSigner,
        resolver: Resolver,
        access: DirectoryAccess,
        instances: Instances,
        vending: Vending,
        reader: TableReader,
    ) -> TableSteps:
        """Put the steps together, and load what the first request would else wait for.

        Args:
            settings: The gateway's; its `sharing` section holds lifetimes.
            keys: The gateway's; each kind of token is signed with keys of its own, derived from them.
            pages: Signs page tokens.
            resolver: Finds what recipients name.
            access: Decides about directory access.
            instances: Catalogs and storage.
            vending: Records what is given.
            reader: Reads tables.
        """
        return_freed_memory()
        pa.array([])  # imports pandas where that is installed
        dict(instances.formats)  # each is built by being looked up
        sharing = settings.sharing
        refreshes = TokenSigner(keys.derive("refresh tokens"), sharing.refresh_token_lifetime)
        viewer = Viewer(resolver, reader, access)
        derived = DerivedLinks(keys, settings.public_url)
        signer = Signer(instances, vending, derived, sharing.url_lifetime)
        answers = TableAnswers(viewer, signer, Continuations(pages, refreshes))
        changes = ChangeAnswers(resolver, reader, signer, ChangeRanges(reader, pages))
        return cls(viewer, answers, changes)
