"""Requests sessions of roles and of long-lived keys from the token service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.api import RefreshingValue
from sluicegate_s3.aws import BotocoreThreads, client, milliseconds
from sluicegate_s3.credentials import Credentials, CredentialSource


class TokenService:
    """Requests sessions. Its client is reused while the signing credentials stay the same."""

    def __init__(self, threads: BotocoreThreads, region: str, endpoint: str | None = None) -> None:
        self._threads = threads
        self._region = region
        self._endpoint = endpoint
        self._kept: tuple[Credentials, Any] | None = None

    async def assume_role(self, base: Credentials, request: Mapping[str, Any]) -> Credentials:
        """Return a session of a role. The request contains the parameters of `AssumeRole`."""
        return await self._session(base, lambda service: service.assume_role(**request))

    async def session_token(self, base: Credentials, duration: int) -> Credentials:
        """Return a session of a long-lived key's user, with all permissions of the user."""
        return await self._session(
            base, lambda service: service.get_session_token(DurationSeconds=duration)
        )

    async def _session(self, base: Credentials, call: Callable[[Any], dict[str, Any]]) -> Credentials:
        return await self._threads.run(
            lambda: _session_of(call(self._client(base))), base.access_key_id
        )

    def _client(self, base: Credentials) -> Any:
        """Return a client that signs with these credentials. Creating one costs more than a request."""
        kept = self._kept
        if kept is None or kept[0] != base:
            kept = (base, client("sts", base, region=self._region, endpoint=self._endpoint))
            self._kept = kept
        return kept[1]


def _session_of(response: Mapping[str, Any]) -> Credentials:
    """Return the credentials in a response."""
    session = response["Credentials"]
    return Credentials(
        session["AccessKeyId"],
        session["SecretAccessKey"],
        session["SessionToken"],
        milliseconds(session["Expiration"]),
    )


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume.

    Attributes:
        duration: Requested lifetime of a session in seconds. The service might shorten it.
    """

    arn: str
    session_name: str
    duration: int
    external_id: str | None = None

    def request(self) -> dict[str, Any]:
        """Return parameters of `AssumeRole`."""
        request = {
            "RoleArn": self.arn,
            "RoleSessionName": self.session_name,
            "DurationSeconds": self.duration,
            "ExternalId": self.external_id,
        }
        return {name: value for name, value in request.items() if value is not None}


class AssumedRole(CredentialSource):
    """Sessions of a role, assumed with other credentials."""

    def __init__(self, service: TokenService, role: Role, base: RefreshingValue[Credentials]) -> None:
        self._service = service
        self._role = role
        self._base = base

    async def load(self) -> Credentials:
        """Return a new session."""
        return await self._service.assume_role(await self._base.get(), self._role.request())
