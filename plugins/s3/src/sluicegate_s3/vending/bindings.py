"""Creates recipients' credentials: the bindings of the S3A token architecture.

Each binding decides how it uses the gateway's credentials ("Token issuing"), and creates new ones if
needed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sluicegate.api import (
    ConfigurationError,
    EndedSessions,
    Principal,
    StorageError,
    UnsupportedOperation,
    session_names,
)
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.sts import Role
from sluicegate_s3.vending.policy import reading_policy
from sluicegate_s3.vending.revocation import RoleSessions

if TYPE_CHECKING:
    from sluicegate_s3.access import Access
    from sluicegate_s3.config import S3Config, VendingConfig


PROPERTY: Final = "properties."
"""Prefix of a session tag's source if it is a property of the recipient."""

_TAG_VALUE = re.compile(r"[\w\s.:/=+\-@]{0,256}")


def session_name(principal: Principal, taken: str | None = None) -> str:
    """Return a unique name for a recipient's sessions; see `session_names`.

    Args:
        taken: The name of the gateway's own sessions, which must not end together with a recipient's.
    """
    return next(name for name in session_names(principal.name) if name != taken)


def session_tags(principal: Principal, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the session's tags, in the form of `AssumeRole`."""
    found = {key: _value_of(principal, source) for key, source in sources.items()}
    tags = {key: value for key, value in found.items() if value is not None}
    for key, value in tags.items():
        if not _TAG_VALUE.fullmatch(value):
            raise UnsupportedOperation(
                f"the recipient's '{sources[key]}' is not a valid value of the session tag '{key}', "
                "which permits at most 256 letters, digits, spaces and . : / = + - @ _; ask the "
                "gateway's operator"
            )
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _value_of(principal: Principal, source: str) -> str | None:
    if source.startswith(PROPERTY):
        return principal.properties.get(source.removeprefix(PROPERTY))
    return principal.id if source == "id" else principal.name


MIN_LIFETIME: Final = 900
"""Shortest session that the token service issues, in seconds."""

_CHAINED_LIFETIME: Final = 3600


class Issuing(Enum):
    """How a binding uses the credentials with which the gateway is logged in."""

    NEW = "new credentials are created with them"
    EXISTING = "they are passed on"
    NONE = "they can't be used to issue credentials"


@dataclass(frozen=True, slots=True)
class Request:
    """A request for credentials.

    Attributes:
        lifetime: Maximum lifetime of new credentials in seconds, 900 or more.
    """

    principal: Principal
    directories: tuple[str, ...]
    lifetime: int


class Binding(ABC):
    """A way to create credentials.

    To add one, a plugin derives from this class, and adds it to `S3Storage.bindings` and
    `VendingConfig.known_bindings` of derived classes.
    """

    name: ClassVar[str]
    refusal: ClassVar[str] = "the gateway has no credentials to issue"

    def __init__(self, config: S3Config, vending: VendingConfig, access: Access) -> None:
        self.config = config
        self.vending = vending
        self.access = access

    @abstractmethod
    def issuing(self, base: Credentials) -> Issuing:
        """Return how the gateway's own credentials are used."""

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """Create the credentials to issue. Called if `issuing` returns `NEW`."""
        return base

    def connection(self) -> Mapping[str, str]:
        """Return connection settings that describe how credentials were created, for their holder."""
        return {}

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions issued to a recipient before a time; see `CredentialVendor.end_sessions`."""
        raise UnsupportedOperation(
            f"the gateway cannot revoke credentials that were issued with the binding '{self.name}'"
        )

    async def issue(self, base: Credentials, request: Request) -> Credentials:
        """Return credentials for a recipient."""
        policy = self.issuing(base)
        if policy is Issuing.NONE:
            raise StorageError(
                "this storage cannot issue credentials of this kind; ask the gateway's operator",
                detail=f"binding '{self.name}': {self.refusal}",
            )
        if policy is Issuing.EXISTING:
            return base
        if request.lifetime < MIN_LIFETIME:
            raise UnsupportedOperation(
                f"credentials of this storage are valid for at least {MIN_LIFETIME} seconds, but "
                f"the requested lifetime is at most {request.lifetime} seconds; request a longer "
                "lifetime, or read the table with 'url' access"
            )
        return await self.create(base, request)


class RoleBinding(Binding):
    """Sessions of a role, limited to the requested directories by a session policy."""

    name = "role"
    refusal = (
        "the gateway itself has only session credentials; if they belong to a role that can assume "
        "this one, set vending.role_chaining; otherwise, configure a long-lived key"
    )

    def __init__(self, config: S3Config, vending: VendingConfig, access: Access) -> None:
        super().__init__(config, vending, access)
        arn = vending.role_arn or config.role_arn
        if arn is None:
            raise ConfigurationError(
                "the binding 'role' requires a role: set vending.role_arn or role_arn"
            )
        self._arn = arn
        reachable = config.endpoint is None or vending.iam_endpoint is not None
        self._sessions = RoleSessions(
            arn,
            access.threads,
            access.own,
            region=config.sts_region or config.signing_region,
            endpoint=vending.iam_endpoint,
            puts=reachable and vending.revoke == "put",
        )

    def issuing(self, base: Credentials) -> Issuing:
        """Return new sessions for a long-lived key, or for a chain of roles if that is configured."""
        chained = base.session_token is not None
        return Issuing.NONE if chained and not self.vending.role_chaining else Issuing.NEW

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """Create a session of the role. One assumed from another session lasts at most an hour."""
        longest = _CHAINED_LIFETIME if base.session_token is not None else request.lifetime
        role = Role(
            arn=self._arn,
            session_name=self._session_name(request.principal),
            duration=min(request.lifetime, longest),
            external_id=self._external_id,
        )
        policy = reading_policy(
            self.config.bucket,
            request.directories,
            role_arn=self._arn,
            kms_key_arn=self.config.kms_key_arn,
        )
        who = self._identity(request.principal)
        return await self.access.tokens.assume_role(base, {**role.request(), "Policy": policy, **who})

    def connection(self) -> Mapping[str, str]:
        """Return the role."""
        return {"role_arn": self._arn}

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions with a policy of the role."""
        return await self._sessions.end(self._session_name(principal), before)

    def _session_name(self, principal: Principal) -> str:
        return session_name(principal, self.config.role_session_name)

    @property
    def _external_id(self) -> str | None:
        """Return the external id. That of the storage applies only to the storage's own role."""
        shared = self.config.external_id if self._arn == self.config.role_arn else None
        return self.vending.external_id or shared

    def _identity(self, principal: Principal) -> dict[str, Any]:
        tags = session_tags(principal, self.vending.session_tags)
        identity: dict[str, Any] = {"Tags": tags} if tags else {}
        if tags and self.vending.transitive_tags:
            identity["TransitiveTagKeys"] = [tag["Key"] for tag in tags]
        if self.vending.source_identity:
            identity["SourceIdentity"] = self._session_name(principal)
        return identity


class SessionBinding(Binding):
    """Sessions with all permissions of the gateway's own key; they can't be limited to a directory."""

    name = "session"

    def issuing(self, base: Credentials) -> Issuing:
        """Return new sessions for a long-lived key; a session is passed on with its own expiry."""
        return Issuing.NEW if base.session_token is None else Issuing.EXISTING

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """Create a session of the key's user."""
        return await self.access.tokens.session_token(base, request.lifetime)


class FullBinding(Binding):
    """The gateway's own key, which never expires."""

    name = "full"
    refusal = (
        "the gateway itself has only session credentials, so it has no key to issue; configure a "
        "long-lived key"
    )

    def issuing(self, base: Credentials) -> Issuing:
        """Return the key, if there is one."""
        return Issuing.EXISTING if base.session_token is None else Issuing.NONE
