"""The gateway's access to a storage: its own credentials, those that read, and the token service."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import RefreshingValue
from sluicegate_s3.aws import BotocoreThreads, DefaultChain
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, CredentialSource, StaticKey, fresh_credentials
from sluicegate_s3.sts import AssumedRole, Role, TokenService


@dataclass(frozen=True, slots=True)
class Access:
    """The configured credentials, which are not loaded yet."""

    threads: BotocoreThreads
    own: RefreshingValue[Credentials]
    reading: RefreshingValue[Credentials]
    tokens: TokenService

    @classmethod
    def configured(cls, config: S3Config) -> Access:
        """Return the configured access."""
        threads = BotocoreThreads()
        region = config.sts_region or config.signing_region
        tokens = TokenService(threads, region, config.sts_endpoint)
        own = fresh_credentials(_own_source(config, threads))
        reading = own
        if config.role_arn is not None:
            role = Role(
                arn=config.role_arn,
                session_name=config.role_session_name,
                duration=config.role_session_duration,
                external_id=config.external_id,
            )
            reading = fresh_credentials(AssumedRole(tokens, role, own))
        return cls(threads, own, reading, tokens)


def _own_source(config: S3Config, threads: BotocoreThreads) -> CredentialSource:
    if config.access_key_id is not None and config.secret_access_key is not None:
        return StaticKey(config.access_key_id, config.secret_access_key, config.session_token)
    return DefaultChain(threads, config.profile)
