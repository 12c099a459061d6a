"""What the endpoints of a gateway are made of, in one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lazy import Lazy
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import PAGE_TOKEN_LIFETIME, TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending
from sluicegate.vending.hadoop.bindings import TokenBindings

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.tables import IndexedTables


@dataclass(frozen=True)
class GatewayParts:
    """What each assembly takes what it needs from. Nothing here knows a protocol.

    Attributes:
        indexes: Tables that have snapshot indexes. `None` if no folder is configured.
    """

    settings: Settings
    keys: KeyRing = field(repr=False)
    store: Store
    instances: Instances
    grants: Grants
    authentication: Authentication
    reader: TableReader
    vending: Vending
    resolver: Resolver
    indexes: Lazy[IndexedTables] | None = None
    background: BackgroundJobs = field(default_factory=BackgroundJobs)
    token_bindings: TokenBindings = field(default_factory=TokenBindings)

    def page_tokens(self, purpose: str = "page tokens") -> TokenSigner:
        """The signer of page tokens, which differ in their key for each purpose."""
        return TokenSigner(self.keys.derive(purpose), PAGE_TOKEN_LIFETIME)
