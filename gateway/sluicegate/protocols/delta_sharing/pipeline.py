"""The pipeline for requests about one table, assembled from its steps.

Importing this module loads Arrow and all code that reads tables and encodes responses about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sluicegate.protocols.delta_sharing.changes.execute import ChangeQueries
from sluicegate.protocols.delta_sharing.changes.version_range import ChangeRanges
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.protocols.delta_sharing.query.response_cache import ResponseCache
from sluicegate.protocols.delta_sharing.query.tokens import Continuations
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.protocols.derived_files import DerivedLinks
from sluicegate.protocols.parts import GatewayParts
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.memory import return_freed_memory


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """Executes requests about one table."""

    viewer: Viewer
    queries: TableQueries
    changes: ChangeQueries

    @classmethod
    def build(cls, parts: GatewayParts) -> QueryPipeline:
        """Assemble the steps, and load what the first request would otherwise wait for."""
        return_freed_memory()
        pa.array([])  # imports pandas if that is installed
        dict(parts.instances.formats)  # each is created by its first lookup
        settings, keys, reader, resolver = parts.settings, parts.keys, parts.reader, parts.resolver
        sharing, pages = settings.sharing, parts.page_tokens()
        refreshes = TokenSigner(keys.derive("refresh tokens"), sharing.refresh_token_lifetime)
        viewer = Viewer(resolver, reader, DirectoryAccess(parts.instances), parts.indexes)
        derived = DerivedLinks(keys, settings.public_url)
        signer = Signer(parts.instances, parts.vending, derived, sharing.presigned_url_ttl)
        answers = ResponseCache(settings.cache.answers, share=settings.cache.share_answers)
        continuations = Continuations(pages, refreshes)
        queries = TableQueries(viewer, signer, continuations, answers, reader.encoded)
        changes = ChangeQueries(resolver, reader, signer, ChangeRanges(reader, pages))
        return cls(viewer, queries, changes)
