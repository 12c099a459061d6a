"""The configuration of clients that read files with keys of the gateway."""

from __future__ import annotations

from typing import Any

from sluicegate.api import Principal, SharedTable, TemporaryCredentials
from sluicegate.audit.trail import note_issued
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.file_access.file_paths import location_of
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import REGION
from sluicegate.protocols.iceberg_rest.store.keys import StoreKeys
from sluicegate.vending.iceberg_format import iceberg_config, refresh_config


class KeyConfig:
    """Issues keys, in the form in which clients get the credentials of a store."""

    def __init__(self, keys: StoreKeys, endpoint: str) -> None:
        self._keys = keys
        self._connection = {"region": REGION, "endpoint": endpoint, "path_style": "true"}

    def config(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """The members of a LoadTableResult for a client with a new key."""
        key = self._keys.issue(principal, shared)
        location = location_of(shared)
        secret = {
            "access_key_id": key.access_key_id,
            "secret_access_key": key.secret,
            "session_token": key.token,
        }
        credentials = TemporaryCredentials(location, "aws", secret, key.expires_at, self._connection)
        note_issued("store key", expires_at=key.expires_at)
        config = iceberg_config(credentials)
        refresh = refresh_config(credentials, addresses.credentials_of(shared))
        return {
            "config": config | refresh,
            "storage-credentials": [{"prefix": location, "config": config}],
        }
