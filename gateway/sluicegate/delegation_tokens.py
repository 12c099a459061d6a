"""S3A delegation tokens as values, and what a token binding is.

Source: s3a-delegation-tokens.md, "Architecture of the S3A Delegation Token Support". Times are epoch
milliseconds; 0 is Hadoop's spelling of "unknown" or "never".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from sluicegate.nouns import TemporaryCredentials

SESSION_KIND = "S3ADelegationToken/Session"
ROLE_KIND = "S3ADelegationToken/Role"
FULL_KIND = "S3ADelegationToken/Full"

BUILT_IN_KINDS: Mapping[str, str] = MappingProxyType(
    {"session": SESSION_KIND, "role": ROLE_KIND, "full": FULL_KIND}
)
"""Token kinds of the gateway's own bindings, by the bindings' names."""


class TokenIssuingPolicy(Enum):
    """Whether a binding issues tokens ("DT Binding: AbstractDelegationTokenBinding")."""

    NO_TOKENS_AVAILABLE = "no tokens"
    RETURN_EXISTING_TOKEN = "the token that is shown, never a new one"  # noqa: S105 (words)
    REQUEST_NEW_TOKEN = "the token that is shown, else a new one"  # noqa: S105 (words)


@dataclass(frozen=True, slots=True)
class EncryptionSecrets:
    """The encryption that a token tells its reader to use; it overrides the reader's own settings.

    Attributes:
        algorithm: Empty, `AES256`, `SSE-KMS`, `SSE-C`, `CSE-KMS`, `CSE-CUSTOM` or `DSSE-KMS`.
        key: A KMS key's name or ARN; in tokens of others possibly key material, so `repr` hides it.
        context: Encryption context, which only layout B carries.
    """

    algorithm: str = ""
    key: str = field(default="", repr=False)
    context: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MarshalledCredentials:
    """The AWS credentials in a token ("class MarshalledCredentials"); `repr` shows no secret.

    Attributes:
        expiration: When the store refuses them; 0 where they do not end by themselves.
    """

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    role_arn: str = ""
    expiration: int = 0


@dataclass(frozen=True, slots=True)
class S3ATokenIdentifier:
    """What a delegation token says ("class AbstractS3ATokenIdentifier" and its subclasses).

    Attributes:
        uri: The bucket, `s3a://bucket`.
        owner: Whose token it is.
        renewer: Who was to renew it; nobody can.
        max_date: When it ends: its credentials' expiration.
        origin: Where it comes from, for diagnostics.
        uuid: Appears in the store's logs, as part of the client's name.
        created: For diagnostics; negative where it guards against readers of the other layout.
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
    """How tokens of one kind are made ("DT Binding: AbstractDelegationTokenBinding").

    Attributes:
        name: What requests and the configuration call it; of a plugin's, the plugin's name.
        kind: The kind of its tokens, which no other binding has.
        hadoop_class: The Java class that a recipient sets as `fs.s3a.delegation.token.binding`.
        credentials: How the vendor shall make the credentials in them: `Scope.binding`.
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
        """The credentials as tokens of this kind carry them.

        Args:
            credentials: What the vendor gave, narrowed to the tables' directories by a role policy
                where the vendor can.

        Raises:
            UnsupportedOperation: Tokens of this kind cannot carry such credentials.
        """
