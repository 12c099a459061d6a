"""What the provider's policies leave of the tables that a recipient was granted.

A policy only narrows: grants say what is shared, and what a policy takes away does not exist.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import anyio

from sluicegate.api import Policy, PolicyAction, Principal, SharedTable
from sluicegate.errors import Unavailable
from sluicegate.telemetry import span

log = logging.getLogger(__name__)

_PATIENCE_SECONDS: Final = 10.0


class Policies:
    """Asks every policy, each about what those before it left, in the order of the configuration.

    A policy that fails, or takes too long, lets nothing through: what it would have said nobody knows.

    Args:
        policies: The configured ones, by name.
        patience: Seconds that one of them may take.
    """

    def __init__(self, policies: Mapping[str, Policy], patience: float = _PATIENCE_SECONDS) -> None:
        self._policies = policies
        self._patience = patience

    async def readable(
        self, principal: Principal, tables: Sequence[SharedTable]
    ) -> Sequence[SharedTable]:
        """The tables that a recipient may read, in their order; all of them are asked for at once.

        Raises:
            Unavailable: A policy cannot be asked now.
        """
        if not self._policies or not tables:
            return tables
        left = await self._left(principal, "read", tables)
        return [table for table in tables if table in left]

    async def narrowed(
        self, principal: Principal, tables: Sequence[SharedTable]
    ) -> Sequence[SharedTable]:
        """The tables with the access modes that are left to a recipient: no `dir` without credentials.

        Those that are shared by directory are asked for at once.

        Raises:
            Unavailable: A policy cannot be asked now.
        """
        if not self._policies:
            return tables
        directories = frozenset(table for table in tables if "dir" in table.access_modes)
        denied = directories - await self._left(principal, "vend", directories)
        return [_without_directory(table) if table in denied else table for table in tables]

    async def allow(self, principal: Principal, action: PolicyAction, table: SharedTable) -> bool:
        """Whether a recipient may do something with a table.

        Raises:
            Unavailable: A policy cannot be asked now.
        """
        return bool(await self._left(principal, action, [table]))

    async def _left(
        self, principal: Principal, action: PolicyAction, tables: Collection[SharedTable]
    ) -> frozenset[SharedTable]:
        left = frozenset(tables)
        for name, policy in self._policies.items():
            if not left:
                break
            left &= await self._asked(name, policy, principal, action, left)
        return left

    async def _asked(
        self,
        name: str,
        policy: Policy,
        principal: Principal,
        action: PolicyAction,
        tables: frozenset[SharedTable],
    ) -> frozenset[SharedTable]:
        try:
            with span("policy", policy=name, tables=len(tables)), anyio.fail_after(self._patience):
                return frozenset(await policy.allowed(principal, action, tables))
        except Unavailable as error:
            raise _unavailable(f"{name}: {error.for_operators}") from error
        except TimeoutError as error:
            raise _unavailable(f"{name}: no answer within {self._patience} seconds") from error
        except Exception as error:
            log.exception("the policy '%s' failed", name)
            raise _unavailable(f"{name}: {type(error).__name__}") from error


def _without_directory(table: SharedTable) -> SharedTable:
    return replace(table, access_modes=tuple(mode for mode in table.access_modes if mode != "dir"))


def _unavailable(detail: str) -> Unavailable:
    return Unavailable("the provider's policies cannot be asked now; try again later", detail=detail)
