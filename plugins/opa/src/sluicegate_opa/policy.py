"""The policy: decisions of a Rego rule about sets of tables."""

from __future__ import annotations

from sluicegate.api import PluginContext, Policy, PolicyAction, Principal, SharedTable
from sluicegate_opa.client import OpaClient
from sluicegate_opa.config import OpaConfig
from sluicegate_opa.decisions import Decisions
from sluicegate_opa.documents import Subject

# Each about one table: some 10 MB.
_CACHED_DECISIONS = 20_000
# The server decides about so many in some milliseconds.
_TABLES_PER_REQUEST = 500


class OpaPolicy(Policy):
    """Allows what a rule of an Open Policy Agent server allows."""

    def __init__(self, client: OpaClient, config: OpaConfig) -> None:
        self._client = client
        self._decisions = Decisions(
            client.allowed,
            max_age=config.max_age,
            size=_CACHED_DECISIONS,
            batch_size=_TABLES_PER_REQUEST,
        )

    @classmethod
    def configured(cls, config: OpaConfig, context: PluginContext) -> OpaPolicy:
        """Return the policy for a section of the configuration, without connecting to the server."""
        return cls(OpaClient.configured(context.name, config), config)

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """Return the tables that the rule allows."""
        return await self._decisions.allowed(Subject.of(principal, action), tables)

    def preload(self) -> None:
        """Import the library that sends requests."""
        self._client.preload()

    async def aclose(self) -> None:
        """End requests in progress, and close connections."""
        await self._decisions.aclose()
        await self._client.aclose()
