"""Applies the provider's policies to the tables and other assets that a recipient is granted.

A policy can only restrict access that grants allow. What it removes does not exist for recipients.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import anyio

from sluicegate.api import Policy, PolicyAction, Principal, SharedTable
from sluicegate.api.errors import Unavailable
from sluicegate.audit.trail import note_rule
from sluicegate.telemetry import span

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS: Final = 10.0

Shared = TypeVar("Shared", bound=SharedTable)


class Policies:
    """Calls the policies in the order of the configuration, each with the tables that remain.

    If a policy fails or times out, access is denied, because its decision is unknown.
    """

    def __init__(self, policies: Mapping[str, Policy], timeout: float = _TIMEOUT_SECONDS) -> None:
        self._policies = policies
        self._timeout = timeout

    async def readable(self, principal: Principal, tables: Sequence[Shared]) -> Sequence[Shared]:
        """Return the tables that a recipient can read, in their order, with one call per policy."""
        if not self._policies or not tables:
            return tables
        left = await self._left(principal, "read", tables)
        return [table for table in tables if table in left]

    async def narrowed(
        self, principal: Principal, tables: Sequence[SharedTable]
    ) -> Sequence[SharedTable]:
        """Return the tables without access mode `dir` if the recipient is not allowed credentials.

        Each policy is called once, with all tables that are shared by directory.
        """
        if not self._policies:
            return tables
        directories = frozenset(table for table in tables if "dir" in table.access_modes)
        denied = directories - await self._left(principal, "vend", directories)
        return [_without_directory(table) if table in denied else table for table in tables]

    async def allow(self, principal: Principal, action: PolicyAction, table: SharedTable) -> bool:
        """Whether a recipient is allowed to perform an action on a table."""
        return bool(await self._left(principal, action, [table]))

    async def denials(
        self, principal: Principal, action: PolicyAction, tables: Collection[SharedTable]
    ) -> Mapping[SharedTable, str]:
        """The tables on which a recipient is not allowed an action, and the policy that denies each."""
        left, denied = frozenset(tables), dict[SharedTable, str]()
        for name, policy in self._policies.items():
            if not left:
                break
            note_rule(f"policy {name}")
            allowed = await self._allowed_by(name, policy, principal, action, left)
            denied.update(dict.fromkeys(left - allowed, name))
            left &= allowed
        return denied

    async def _left(
        self, principal: Principal, action: PolicyAction, tables: Collection[SharedTable]
    ) -> frozenset[SharedTable]:
        return frozenset(tables) - (await self.denials(principal, action, tables)).keys()

    async def _allowed_by(
        self,
        name: str,
        policy: Policy,
        principal: Principal,
        action: PolicyAction,
        tables: frozenset[SharedTable],
    ) -> frozenset[SharedTable]:
        try:
            with span("policy", policy=name, tables=len(tables)), anyio.fail_after(self._timeout):
                return frozenset(await policy.allowed(principal, action, tables))
        except Unavailable as error:
            raise _unavailable(name, error.for_operators) from error
        except TimeoutError as error:
            raise _unavailable(name, f"no response within {self._timeout} seconds") from error
        except Exception as error:
            log.exception("the policy '%s' failed", name)
            raise _unavailable(name, type(error).__name__) from error


def _without_directory(table: SharedTable) -> SharedTable:
    return replace(table, access_modes=tuple(mode for mode in table.access_modes if mode != "dir"))


def _unavailable(policy: str, reason: str) -> Unavailable:
    message, detail = "the provider's policies are unavailable; try again later", f"{policy}: {reason}"
    return Unavailable(message, detail=detail).decided_by(f"policy {policy}")
