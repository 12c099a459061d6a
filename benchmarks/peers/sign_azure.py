"""Azure's part of `sign`: signatures of blobs, beside azure-storage-blob and obstore."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

_ACCOUNT, _CONTAINER = "acmelake", "lake"
_ENDPOINT = f"https://{_ACCOUNT}.blob.core.windows.net"
_KEY = base64.b64encode(bytes(range(64))).decode()
_FIGURE = "azure_urls_per_cpu_second"

Work = Callable[[], object]


def azure_works(keys: Sequence[str], expires_in: int) -> Mapping[tuple[str, str], tuple[Work, int]]:
    """Work and its number of URLs, by figure and who does it; all sign with the account's key."""
    some = keys[: max(1, len(keys) // 10)]
    return {
        (_FIGURE, "sluicegate"): (_sluicegate(keys, expires_in), len(keys)),
        (_FIGURE, "obstore"): (_obstore(keys, expires_in), len(keys)),
        (_FIGURE, "azure-storage-blob"): (_library(some, expires_in), len(some)),
    }


def _sluicegate(keys: Sequence[str], expires_in: int) -> Work:
    """`Storage.presign` as a query calls it: locations in, URLs out."""
    from sluicegate.api import SecretStr
    from sluicegate_azure.config import AzureConfig
    from sluicegate_azure.identity import configured_access
    from sluicegate_azure.storage import AzureStorage

    prefix = f"abfss://{_CONTAINER}@{_ACCOUNT}.dfs.core.windows.net/"
    config = AzureConfig(prefix=prefix, account_key=SecretStr(_KEY))
    storage = AzureStorage(config, configured_access(config))
    locations = [f"{prefix}{key}" for key in keys]
    return lambda: asyncio.run(storage.presign(locations, expires_in))


def _obstore(keys: Sequence[str], expires_in: int) -> Work:
    import obstore
    from obstore.store import AzureStore

    store = AzureStore(_CONTAINER, account_name=_ACCOUNT, account_key=_KEY, endpoint=_ENDPOINT)

    async def sign() -> object:
        return await obstore.sign_async(store, "GET", keys, timedelta(seconds=expires_in))

    return lambda: asyncio.run(sign())


def _library(keys: Sequence[str], expires_in: int) -> Work:
    from urllib.parse import quote

    from azure.storage.blob import generate_blob_sas

    def sign() -> list[str]:
        expiry = datetime.now(UTC) + timedelta(seconds=expires_in)
        return [
            f"{_ENDPOINT}/{_CONTAINER}/{quote(key, safe='~/')}?"
            + generate_blob_sas(
                _ACCOUNT,
                _CONTAINER,
                key,
                account_key=_KEY,
                permission="r",
                expiry=expiry,
                protocol="https",
            )
            for key in keys
        ]

    return sign
