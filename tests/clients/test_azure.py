"""Tables on Azure, read by the official client and by plain HTTP, with URLs and with credentials.

Azurite speaks HTTPS with a certificate of its own, which clients trust by environment variables; some
read those when they are imported, so the official client runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.process.ending import LEAVE
from support.tables.rows import assert_same_rows

from sluicegate_testing.secrets import keep_credentials, keep_url_secret, keep_written
from sluicegate_testing.servers.azurite import Azurite

ROWS = pa.table(
    {
        "id": pa.array(range(60), pa.int64()),
        "city": [("Köln", "a b/c", "50% off", "x=y&z")[number % 4] for number in range(60)],
    }
)
TABLE = "shares/lake/schemas/sales/tables/orders"
READ = """
import sys, delta_sharing
source, folder = sys.argv[1:]
for name, form in {"negotiated": None, "parquet": False, "delta": True}.items():
    delta_sharing.load_as_pandas(source, use_delta_format=form).to_parquet(f"{folder}/{name}")
"""


@dataclass(frozen=True)
class AzureLake:
    server: Azurite
    gateway: RunningGateway
    profile: Path

    def ask(self, method: str, path: str) -> httpx.Response:
        token = json.loads(self.profile.read_text())["bearerToken"]
        headers = {"Authorization": f"Bearer {token}"}
        body: dict[str, Any] = {"json": {}} if method == "POST" else {}
        url = f"{self.gateway.endpoint}/{TABLE}/{path}"
        answer = httpx.request(method, url, headers=headers, timeout=15, **body)
        if answer.is_error:
            keep_written("errors", answer.content)
        return answer

    def files(self) -> list[dict[str, Any]]:
        answer = self.ask("POST", "query")
        assert answer.status_code == 200, answer.text
        found = [orjson.loads(line)["file"] for line in answer.text.splitlines()[2:]]
        keep_url_secret(*(file["url"] for file in found))
        return found

    def store(self, method: str, url: str, **options: Any) -> httpx.Response:
        trust = ssl.create_default_context(cafile=self.server.certificate)
        return httpx.request(method, url, verify=trust, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with Azurite.for_tests(tmp_path_factory.mktemp("azurite")) as running:
        yield running


@pytest.fixture(scope="module")
def lake(server: Azurite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureLake]:
    location = f"{server.prefix}orders"
    options = storage_options(server) | {"azure_storage_account_key": server.account_key}
    write_deltalake(location, ROWS, storage_options=options, partition_by=["city"])
    folder = tmp_path_factory.mktemp("gateway")
    table = {
        "catalog": "raw",
        "table": location,
        "history": True,
        "access_modes": ["url", "dir"],
    }
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [
                {
                    "type": "azure",
                    "prefix": f"wasbs://{server.container}@{server.account}.blob.core.windows.net",
                    "endpoint": server.endpoint,
                    "account_key": server.account_key,
                    "vending": "container",
                }
            ],
        },
        {
            "shares": {"lake": {"schemas": {"sales": {"tables": {"orders": table}}}}},
            "recipients": {"acme": {"shares": ["lake"]}},
        },
    )
    with running_gateway(folder, env=server.trust) as gateway:
        yield AzureLake(server, gateway, gateway.profile("acme"))
        assert "Traceback" not in gateway.log
        assert "sig=" not in gateway.log
        assert server.account_key not in gateway.log


def storage_options(server: Azurite) -> dict[str, str]:
    return {
        "azure_storage_account_name": server.account,
        "azure_storage_endpoint": server.endpoint,
    }


def test_a_partitioned_table_is_read(lake: AzureLake, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ + LEAVE, f"{lake.profile}#lake.sales.orders", str(tmp_path)],
        env={**os.environ, **lake.server.trust},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for form in ("negotiated", "parquet", "delta"):
        assert_same_rows(ROWS, pd.read_parquet(tmp_path / form))


def test_urls_are_read_with_plain_http_and_only_read(lake: AzureLake) -> None:
    for file in lake.files():
        url = file["url"]
        assert len(lake.store("GET", url).content) == file["size"]
        put = lake.store("PUT", url, content=b"mine now", headers={"x-ms-blob-type": "BlockBlob"})
        assert (put.status_code, lake.store("DELETE", url).status_code) == (403, 403)


def test_a_url_opens_no_other_file(lake: AzureLake) -> None:
    first, second, *_ = (file["url"] for file in lake.files())
    path, _, query = first.partition("?")

    assert lake.store("GET", f"{path}?{query}").status_code == 200
    assert lake.store("GET", f"{second.partition('?')[0]}?{query}").status_code == 403


def test_a_table_is_read_with_temporary_credentials(lake: AzureLake) -> None:
    answer = lake.ask("POST", "temporary-table-credentials")

    assert answer.status_code == 200, answer.text
    credentials = answer.json()["credentials"]
    keep_credentials(credentials)
    token = credentials["azureUserDelegationSas"]["sasToken"]
    options = storage_options(lake.server) | {"azure_storage_sas_token": token}
    table = DeltaTable(credentials["location"], storage_options=options)
    assert_same_rows(ROWS, table.to_pandas())
    log = f"{lake.server.endpoint}/{lake.server.container}/orders/_delta_log/{1:020}.json?{token}"
    put = lake.store("PUT", log, content=b"{}", headers={"x-ms-blob-type": "BlockBlob"})
    assert put.status_code == 403
