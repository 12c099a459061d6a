"""The obstore store of a bucket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sluicegate.api import client_options, retry_config
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials

if TYPE_CHECKING:
    from obstore.store import S3Credential, S3Store

_RELOAD_AFTER = timedelta(minutes=10)


def make_store(config: S3Config, current: Callable[[], Awaitable[Credentials]]) -> S3Store:
    """Return a store with exactly this configuration, which reads with the current credentials.

    obstore falls back to environment variables for missing arguments. One of them even overrides
    its argument, so the endpoint is passed under both of its names.
    """
    from obstore.store import S3Store

    async def provide() -> S3Credential:
        return _for_obstore(await current())

    address = config.address
    return S3Store(
        config.bucket,
        endpoint=address.origin,
        aws_endpoint_url_s3=address.origin,
        region=config.signing_region,
        virtual_hosted_style_request=not config.uses_path_style,
        skip_signature=False,
        client_options=client_options(address.origin),
        retry_config=retry_config(),
        credential_provider=provide,
    )


def _for_obstore(credentials: Credentials) -> S3Credential:
    """Return credentials for obstore. Those without expiry are requested again after a while."""
    end = credentials.expires_at
    return {
        "access_key_id": credentials.access_key_id,
        "secret_access_key": credentials.secret_access_key,
        "token": credentials.session_token,
        "expires_at": datetime.now(UTC) + _RELOAD_AFTER if end is None else _moment(end),
    }


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
