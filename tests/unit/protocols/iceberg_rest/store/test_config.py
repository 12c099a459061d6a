from __future__ import annotations

from support.gateways.memory_gateway import KEYS, shared_table
from support.gateways.memory_grants import ACME

from sluicegate.protocols.iceberg_rest.file_access.file_paths import location_of
from sluicegate.protocols.iceberg_rest.store.config import KeyConfig
from sluicegate.protocols.iceberg_rest.store.keys import StoreKeys

ENDPOINT = "https://gateway.example/iceberg-files"


def test_a_client_gets_a_key_for_all_files_of_the_table() -> None:
    keys, orders = StoreKeys(KEYS, 3600), shared_table()
    made = KeyConfig(keys, ENDPOINT).config(ACME, orders)
    [credentials] = made["storage-credentials"]
    config = credentials["config"]
    assert credentials["prefix"] == location_of(orders)
    opened = keys.open(config["s3.access-key-id"], config["s3.session-token"])
    assert opened.secret == config["s3.secret-access-key"]
    assert config["s3.session-token-expires-at-ms"] == str(opened.key.expires_at)
    assert (config["s3.endpoint"], config["s3.path-style-access"]) == (ENDPOINT, "true")
    assert made["config"] == config | {
        "client.refresh-credentials-endpoint": (
            "v1/shares/sales/namespaces/eu/tables/orders/credentials"
        )
    }
