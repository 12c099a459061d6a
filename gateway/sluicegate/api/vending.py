"""Temporary credentials: the requested scope, the issued credentials, and the vendor's base class."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.principals import Principal

_PLAIN = re.compile(r"[A-Za-z0-9_+,.@-]{2,64}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_+,.@-]")
_TEXT_LENGTH = 47
_DIGEST_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Scope:
    """The requested scope of temporary credentials, which are always read-only.

    Attributes:
        locations: Directories without trailing slashes; at least one, all in one bucket or container.
        lifetime: Requested lifetime in seconds. The vendor can issue a shorter one, but never a longer.
        principal: The recipient.
        binding: The type of credentials, for vendors that support several: `role`, `session` or `full`
            (S3A token architecture); `None` for the type that the vendor is configured for.
    """

    locations: tuple[str, ...]
    lifetime: int
    principal: Principal
    binding: str | None = None


@dataclass(frozen=True, slots=True)
class TemporaryCredentials:
    """Credentials of a cloud for one location prefix. The `repr` contains no secret.

    Attributes:
        location: The directory that the credentials cover; the first one if there are several.
        kind: `aws`, `azure`, `gcp` or `r2`.
        secret: The fields of the cloud: `access_key_id`, `secret_access_key`, `session_token`;
            `sas_token`; `oauth_token`.
        expires_at: The actual expiry, epoch milliseconds; `None` if they do not expire (long-lived
            keys, binding `full`).
        connection: Settings that a client needs in addition to the secret, if known. None is secret:
            `region`, `endpoint` (URL), `path_style` (`true` or `false`), `role_arn`; `account`
            (Azure's storage account); `encryption_algorithm` and `encryption_key` (a key's name or
            ARN, never key material) in the notation of the S3A token architecture.
    """

    location: str
    kind: Literal["aws", "azure", "gcp", "r2"]
    secret: Mapping[str, str] = field(repr=False)
    expires_at: int | None
    connection: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndedSessions:
    """The result of a request to end the sessions of a recipient.

    Attributes:
        applied: Whether the vendor ended them. If not, an administrator must follow `instructions`.
        instructions: What was done, or what to do. Can contain a policy document.
    """

    applied: bool
    instructions: str


def session_names(recipient: str) -> tuple[str, ...]:
    """Names of the sessions of a role that a recipient gets, the preferred one first.

    They have 2 to 64 characters. A recipient's name is used unchanged if it is valid. The last name is
    sanitized, truncated, and ends with `=` and a digest, which can't occur in a valid name.
    """
    digest = sha256(recipient.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    made = f"{_FOREIGN.sub('_', recipient)[:_TEXT_LENGTH]}={digest}"
    return (recipient, made) if _PLAIN.fullmatch(recipient) else (made,)


class CredentialVendor(ABC):
    """Issues temporary, read-only credentials for directories."""

    def vends(self, location: str) -> bool:
        """Whether credentials for a directory are available, according to the configuration.

        Called for every listed table, so it must do no I/O.
        """
        return True

    def can_delegate(self, location: str) -> bool:
        """Whether recipients can receive the credentials of a directory, as far as is known. No I/O.

        False if the vendor's credentials were found not to expire, or to cover more than the directory.
        The gateway then uses them only to read and to sign URLs, and does not offer directory access.
        """
        return self.vends(location)

    @abstractmethod
    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Issue credentials for exactly the locations of the scope, with their actual `expires_at`.

        Raises:
            PermissionDenied: A location is outside of the vendor's prefix, or its configuration does
                not allow the scope's binding.
            StorageError: The cloud currently issues none.
            UnsupportedOperation: The cloud cannot limit credentials to these locations.
        """

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End the credentials that a recipient received before a time (epoch milliseconds).

        Raises:
            UnsupportedOperation: Credentials of this kind cannot be ended before they expire.
        """
        raise UnsupportedOperation("credentials of this storage cannot be ended before they expire")
