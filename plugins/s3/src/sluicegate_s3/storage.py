"""A bucket, or a directory of it: presigns objects, opens tables, vends credentials."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from sluicegate.api import (
    EndedSessions,
    ObjectKeys,
    PluginContext,
    Principal,
    RefreshingValue,
    Scope,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_s3.access import Access
from sluicegate_s3.address import with_canonical_scheme
from sluicegate_s3.bucket import S3Bucket
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.vending.bindings import Binding, FullBinding, RoleBinding, SessionBinding
from sluicegate_s3.vending.vendor import Vendor


class S3Storage(S3Bucket):
    """Presigns, opens and vends credentials for locations below one prefix of one bucket.

    Credentials of the bindings `session` and `full` are not limited to the directories of a scope. A
    session or key that is passed on keeps its own expiry, whatever the scope says.
    """

    kind = "aws"
    service = "S3"
    bindings: ClassVar[tuple[type[Binding], ...]] = (RoleBinding, SessionBinding, FullBinding)

    def __init__(
        self,
        config: S3Config,
        credentials: RefreshingValue[Credentials],
        clock: Callable[[], float] = time.time,
        vendor: Vendor | None = None,
    ) -> None:
        keys = ObjectKeys(config.prefix, f"s3://{config.bucket}/", with_canonical_scheme)
        super().__init__(keys, config, credentials, clock, vending=vendor is not None)
        self._vendor = vendor

    @classmethod
    def configured(cls, config: S3Config, context: PluginContext) -> S3Storage:
        """Return the configured storage, without connecting to it."""
        access = Access.configured(config)
        vendor = None
        if config.vending is not None:
            named = [each for each in cls.bindings if each.name in config.vending.bindings]
            ways = [binding(config, config.vending, access) for binding in named]
            vendor = Vendor(config, config.vending, access.own, ways)
        return cls(config, access.reading, vendor=vendor)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions of the role; see `CredentialVendor.end_sessions`."""
        return await self._configured_vendor().end_sessions(principal, before)

    async def _vend(self, scope: Scope, directories: Sequence[str]) -> TemporaryCredentials:
        return await self._configured_vendor().vend(scope, tuple(directories))

    def _check_binding(self, binding: str | None) -> None:
        """Permit each binding. The vendor rejects those that are not configured."""

    def _configured_vendor(self) -> Vendor:
        if self._vendor is None:
            raise UnsupportedOperation(self.no_vending)
        return self._vendor
