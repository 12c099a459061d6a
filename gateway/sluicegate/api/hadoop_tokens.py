"""Models of S3A delegation tokens, and the base class of token bindings.

Source: S3A token architecture, "Architecture of the S3A Delegation Token Support". Times are epoch
milliseconds; 0 means "unknown" or "never", as in Hadoop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from sluicegate.api.vending import TemporaryCredentials

SESSION_KIND = "S3ADelegationToken/Session"
ROLE_KIND = "S3ADelegationToken/Role"
FULL_KIND = "S3ADelegationToken/Full"

BUILT_IN_KINDS: Mapping[str, str] = MappingProxyType(
    {"session": SESSION_KIND, "role": ROLE_KIND, "full": FULL_KIND}
)
"""Token kinds of the built-in bindings, by name."""


class TokenIssuingPolicy(Enum):
    """Whether a binding issues tokens ("DT Binding: AbstractDelegationTokenBinding")."""

    NO_TOKENS_AVAILABLE = "no tokens"
    RETURN_EXISTING_TOKEN = "the presented token, never a new one"  # noqa: S105 (words)
    REQUEST_NEW_TOKEN = "the presented token, or else a new one"  # noqa: S105 (words)


@dataclass(frozen=True, slots=True)
class EncryptionSecrets:
    """The encryption settings in a token, which override those of its reader.

    Attributes:
        algorithm: Empty, `AES256`, `SSE-KMS`, `SSE-C`, `CSE-KMS`, `CSE-CUSTOM` or `DSSE-KMS`.
        key: Name or ARN of a KMS key. Tokens of other issuers may contain key material, so `repr` hides
            it.
        context: Encryption context, which only layout B contains.
    """

    algorithm: str = ""
    key: str = field(default="", repr=False)
    context: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MarshalledCredentials:
    """The AWS credentials in a token ("class MarshalledCredentials"); `repr` shows no secret.

    Attributes:
        expiration: Time of expiry; 0 if they do not expire.
    """

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    role_arn: str = ""
    expiration: int = 0


@dataclass(frozen=True, slots=True)
class S3ATokenIdentifier:
    """The identifier of a delegation token ("class AbstractS3ATokenIdentifier" and its subclasses).

    Attributes:
        uri: The bucket, `s3a://bucket`.
        owner: The owner of the token.
        renewer: The requested renewer. Tokens cannot be renewed.
        max_date: Time of expiry, which is that of its credentials.
        origin: A description of its origin, for diagnostics.
        uuid: Appears in the store's logs, as part of the client's name.
        created: Time of creation, for diagnostics. Negative values make readers of the other layout
            fail.
    """

    uri: str
    owner: str
    credentials: MarshalledCredentials
    encryption: EncryptionSecrets = EncryptionSecrets()
    renewer: str = ""
    real_user: str = ""
    issue_date: int = 0
    max_date: int = 0
    sequence_number: int = 0
    master_key_id: int = 0
    origin: str = ""
    uuid: str = ""
    created: int = 0


class TokenBinding(ABC):
    """Creates tokens of one kind ("DT Binding: AbstractDelegationTokenBinding").

    Attributes:
        name: Its name in requests and in the configuration. A plugin's binding has the plugin's name.
        kind: The kind of its tokens, which is unique to this binding.
        hadoop_class: The Java class that a recipient sets as `fs.s3a.delegation.token.binding`.
        credentials: The type of credentials to request from the vendor: `Scope.binding`.
    """

    name: str
    kind: str
    hadoop_class: str
    credentials: str | None

    @property
    def issuing_policy(self) -> TokenIssuingPolicy:
        """Whether tokens are issued."""
        return TokenIssuingPolicy.REQUEST_NEW_TOKEN

    @abstractmethod
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        """Return the credentials in the form for tokens of this kind.

        Args:
            credentials: The vendor's credentials, limited to the tables' directories by a role policy
                if the vendor supports it.

        Raises:
            UnsupportedOperation: Tokens of this kind cannot contain such credentials.
        """
