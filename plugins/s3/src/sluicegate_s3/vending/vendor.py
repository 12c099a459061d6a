"""Vends credentials for directories of one bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sluicegate.api import (
    EndedSessions,
    PermissionDenied,
    Principal,
    RefreshingValue,
    Scope,
    TemporaryCredentials,
)
from sluicegate_s3.config import S3Config, VendingConfig
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.vending.bindings import Binding, Request, RoleBinding


class Vendor:
    """Vends with the bindings that the configuration allows."""

    def __init__(
        self,
        config: S3Config,
        vending: VendingConfig,
        base: RefreshingValue[Credentials],
        bindings: Iterable[Binding],
    ) -> None:
        self._config = config
        self._vending = vending
        self._base = base
        self._bindings = {each.name: each for each in bindings}

    async def vend(self, scope: Scope, directories: tuple[str, ...]) -> TemporaryCredentials:
        """Return credentials for directories; see `CredentialVendor.vend`."""
        name = scope.binding or self._vending.binding
        binding = self._bindings.get(name)
        if binding is None:
            raise PermissionDenied(
                f"this storage does not issue credentials with the binding '{name}'",
                detail=f"{self._config.prefix} permits {', '.join(sorted(self._bindings))}: see "
                "vending.allowed_bindings",
            )
        lifetime = min(scope.lifetime, self._vending.duration)
        request = Request(scope.principal, directories, lifetime)
        issued = await binding.issue(await self._base.get(), request)
        connection = {**self._connection(), **binding.connection()}
        return TemporaryCredentials(
            scope.locations[0], "aws", _secret(issued), issued.expires_at, connection
        )

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions if possible; see `CredentialVendor.end_sessions`."""
        role = self._bindings.get(RoleBinding.name)
        binding = role or self._bindings[self._vending.binding]
        ended = await binding.end_sessions(principal, before)
        rest = sorted(self._bindings.keys() - {binding.name})
        if not rest:
            return ended
        unended = (
            "the gateway cannot revoke credentials that were issued with the binding "
            f"{' or '.join(rest)}"
        )
        return replace(ended, instructions=f"{ended.instructions}\n{unended}")

    def _connection(self) -> Mapping[str, str]:
        config = self._config
        found = {
            "region": config.signing_region,
            "endpoint": config.public_endpoint or config.endpoint,
            "path_style": str(config.uses_path_style).lower(),
            "encryption_algorithm": "SSE-KMS" if config.kms_key_arn else None,
            "encryption_key": config.kms_key_arn,
        }
        return {name: value for name, value in found.items() if value is not None}


def _secret(issued: Credentials) -> dict[str, str]:
    secret = {
        "access_key_id": issued.access_key_id,
        "secret_access_key": issued.secret_access_key,
        "session_token": issued.session_token,
    }
    return {name: value for name, value in secret.items() if value is not None}
