"""The ways to make a recipient's credentials: the bindings of s3a-delegation-tokens.md.

Each says what it does with the credentials that the gateway has ("Token issuing"), and makes new ones
where that is its way.
"""

from __future__ import annotations

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
)
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.policy import reading_policy
from sluicegate_s3.recipients import session_name, session_tags
from sluicegate_s3.revocation import RoleSessions
from sluicegate_s3.sts import Role

if TYPE_CHECKING:
    from sluicegate_s3.access import Access
    from sluicegate_s3.config import S3Config
    from sluicegate_s3.vending_config import VendingConfig

MIN_LIFETIME: Final = 900
"""Shortest session, in seconds, that the token service gives."""

_CHAINED_LIFETIME: Final = 3600


class Issuing(Enum):
    """What a binding does with the credentials that the gateway is logged in with."""

    NEW = "new credentials are made from them"
    EXISTING = "they are passed on"
    NONE = "they give nothing to issue"


@dataclass(frozen=True, slots=True)
class Request:
    """What one issuance is asked for.

    Attributes:
        principal: The recipient.
        directories: Keys without trailing slashes.
        lifetime: Seconds that new credentials may live at most, 900 or more.
    """

    principal: Principal
    directories: tuple[str, ...]
    lifetime: int


class Binding(ABC):
    """One way to make credentials.

    A plugin adds a way by another of these, in `S3Storage.bindings` and
    `VendingConfig.known_bindings` of classes derived from ours.

    Attributes:
        name: What `Scope.binding` and the configuration call it.
        refusal: Why there is nothing to issue, and what to do, where `issuing` says so.
    """

    name: ClassVar[str]
    refusal: ClassVar[str] = "the gateway has no credentials to issue"

    def __init__(self, config: S3Config, vending: VendingConfig, access: Access) -> None:
        self.config = config
        self.vending = vending
        self.access = access

    @abstractmethod
    def issuing(self, base: Credentials) -> Issuing:
        """What becomes of the gateway's own credentials."""

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """The credentials to issue where `issuing` says `NEW`: such a binding makes them."""
        return base

    def connection(self) -> Mapping[str, str]:
        """What the credentials' holder should know of how they were made."""
        return {}

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End what was issued to a recipient before a moment; see `CredentialVendor.end_sessions`."""
        raise UnsupportedOperation(
            f"credentials of this storage made by the binding '{self.name}' only end by themselves"
        )

    async def issue(self, base: Credentials, request: Request) -> Credentials:
        """Credentials for a recipient.

        Raises:
            StorageError: The gateway's own credentials give nothing to issue, or the token service
                refuses.
            UnsupportedOperation: The scope fits in no session.
        """
        policy = self.issuing(base)
        if policy is Issuing.NONE:
            raise StorageError(
                "this storage cannot give credentials of this kind; ask the gateway's operator",
                detail=f"binding '{self.name}': {self.refusal}",
            )
        if policy is Issuing.EXISTING:
            return base
        if request.lifetime < MIN_LIFETIME:
            raise UnsupportedOperation(
                f"credentials of this storage live for at least {MIN_LIFETIME} seconds, but shall live "
                f"for {request.lifetime} at most; allow a longer life, or read by presigned URLs"
            )
        return await self.create(base, request)


class RoleBinding(Binding):
    """Sessions of a role that a session policy limits to the directories asked for."""

    name = "role"
    refusal = (
        "the gateway itself has only a session, which may be of anything; set vending.role_chaining "
        "where it is a role's that shall assume this one, or give the storage a long-lived key"
    )

    def __init__(self, config: S3Config, vending: VendingConfig, access: Access) -> None:
        super().__init__(config, vending, access)
        arn = vending.role_arn or config.role_arn
        if arn is None:
            raise ConfigurationError("vending by role needs a role: set vending.role_arn, or role_arn")
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
        """New sessions from a long-lived key, or along a chain of roles where that is configured."""
        chained = base.session_token is not None
        return Issuing.NONE if chained and not self.vending.role_chaining else Issuing.NEW

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """A session of the role; one assumed from another session lives for an hour at most."""
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
        """The role."""
        return {"role_arn": self._arn}

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End them by a policy of the role."""
        return await self._sessions.end(self._session_name(principal), before)

    def _session_name(self, principal: Principal) -> str:
        return session_name(principal, self.config.role_session_name)

    @property
    def _external_id(self) -> str | None:
        """That of the storage is for the storage's own role only."""
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
    """Sessions with all that the gateway's own key may do; they cannot be limited to a directory."""

    name = "session"

    def issuing(self, base: Credentials) -> Issuing:
        """New sessions from a long-lived key; a session is passed on with its own end."""
        return Issuing.NEW if base.session_token is None else Issuing.EXISTING

    async def create(self, base: Credentials, request: Request) -> Credentials:
        """A session of the key's user."""
        return await self.access.tokens.session_token(base, request.lifetime)


class FullBinding(Binding):
    """The gateway's own key, which never ends by itself."""

    name = "full"
    refusal = "the gateway itself has only a session, so there is no key to pass on"

    def issuing(self, base: Credentials) -> Issuing:
        """The key, where there is one."""
        return Issuing.EXISTING if base.session_token is None else Issuing.NONE
