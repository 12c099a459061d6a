"""The pipeline for requests about one table, assembled from its steps.

Importing this module loads Arrow and all code that reads tables and encodes responses about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sluicegate._util.lazy import Lazy
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.changes.execute import ChangeQueries
from sluicegate.protocols.delta_sharing.changes.version_range import ChangeRanges
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.protocols.delta_sharing.query.response_cache.cache import ResponseCache
from sluicegate.protocols.delta_sharing.query.tokens import Continuations
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.protocols.derived_files.links import DerivedLinks
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.memory import return_freed_memory
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.tables import IndexedTables


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """Executes requests about one table."""

    viewer: Viewer
    queries: TableQueries
    changes: ChangeQueries

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
        indexes: Lazy[IndexedTables] | None = None,
    ) -> QueryPipeline:
        """Assemble the steps, and load what the first request would otherwise wait for.

        Args:
            settings: The gateway's settings. The `sharing` section contains lifetimes, and the
                `cache` section the memory for responses.
            keys: The gateway's keys. Each kind of token has dedicated signing keys that are derived
                from them.
            pages: Signs page tokens.
            resolver: Resolves names from recipients.
            access: Decides on directory access.
            instances: Catalogs and storage.
            vending: Records issued URLs and credentials.
            reader: Reads tables.
            indexes: Reads tables that have snapshot indexes.
        """
        return_freed_memory()
        pa.array([])  # imports pandas if that is installed
        dict(instances.formats)  # each is created by its first lookup
        sharing = settings.sharing
        refreshes = TokenSigner(keys.derive("refresh tokens"), sharing.refresh_token_lifetime)
        viewer = Viewer(resolver, reader, access, indexes)
        derived = DerivedLinks(keys, settings.public_url)
        signer = Signer(instances, vending, derived, sharing.presigned_url_ttl)
        answers = ResponseCache(settings.cache.answers, share=settings.cache.share_answers)
        continuations = Continuations(pages, refreshes)
        queries = TableQueries(viewer, signer, continuations, answers, reader.encoded)
        changes = ChangeQueries(resolver, reader, signer, ChangeRanges(reader, pages))
        return cls(viewer, queries, changes)
