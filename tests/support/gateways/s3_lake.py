"""A gateway in front of Delta tables in an S3 store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import obstore
import orjson
import pyarrow as pa
from deltalake import write_deltalake
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

from sluicegate_testing.secrets import keep_credentials, keep_secret, keep_url_secret, keep_written
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS

SHARE, SCHEMA = "lake", "sales"
# A store that is gone is told long before a client would give up.
PATIENCE_SECONDS = 15


@dataclass(frozen=True)
class S3Lake:
    """The gateway, and a recipient of all its tables."""

    gateway: RunningGateway
    recipient: Recipient
    secret: str

    def query(self, table: str) -> httpx.Response:
        """The protocol's answer in parquet format."""
        return self._request("POST", f"schemas/{SCHEMA}/tables/{table}/query", json={})

    def credentials(self, table: str, location: str | None = None) -> httpx.Response:
        """Temporary credentials for a directory of a table, by default its root."""
        body = {} if location is None else {"location": location}
        path = f"schemas/{SCHEMA}/tables/{table}/temporary-table-credentials"
        answer = self._request("POST", path, json=body)
        if answer.status_code == 200:
            keep_credentials(answer.json()["credentials"])
        return answer

    def get(self, path: str) -> httpx.Response:
        """Something else of the share."""
        return self._request("GET", path)

    def files(self, table: str) -> list[dict[str, Any]]:
        """The `file` actions of a query."""
        answer = self.query(table)
        assert answer.status_code == 200, answer.text
        found = [orjson.loads(line)["file"] for line in answer.text.splitlines()[2:]]
        keep_url_secret(*(file["url"] for file in found))
        return found

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        token = json.loads(self.recipient.profile.read_text())["bearerToken"]
        url = f"{self.gateway.endpoint}/shares/{SHARE}/{path}"
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.request(method, url, headers=headers, timeout=PATIENCE_SECONDS, **options)
        if answer.is_error:
            keep_written("errors", answer.content)
        return answer


@contextmanager
def s3_lake(
    folder: Path,
    storage: Mapping[str, Any],
    tables: Sequence[str],
    *,
    sharing: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    telemetry: Mapping[str, Any] | None = None,
    cache: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Iterator[S3Lake]:
    """Share tables of a bucket, until the block ends."""
    entries = {
        name: {
            "catalog": "raw",
            "table": f"{storage['prefix']}{name}",
            "history": True,
            **(options or {}),
        }
        for name in tables
    }
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [storage],
            "sharing": sharing or {},
            "telemetry": telemetry or {},
            "cache": cache or {},
            "limits": limits or {},
        },
        {
            "shares": {SHARE: {"schemas": {SCHEMA: {"tables": entries}}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as gateway:
        recipient = Recipient(gateway.profile("acme"), SHARE, SCHEMA)
        yield S3Lake(gateway, recipient, storage["secret_access_key"])


def storage_of(server: SeaweedFS, identity: Identity | None = None) -> dict[str, Any]:
    """The section of a server's bucket, read with the key of `signer` unless told otherwise."""
    who = identity or server.signer
    keep_secret(who.secret_access_key, server.admin.secret_access_key)
    return {
        "type": "s3",
        "prefix": f"s3://{server.bucket}/",
        "endpoint": server.endpoint,
        "access_key_id": who.access_key_id,
        "secret_access_key": who.secret_access_key,
    }


def write_table(server: SeaweedFS, name: str, rows: pa.Table, **options: Any) -> None:
    """Write a Delta table into the bucket with `deltalake`."""
    write_deltalake(
        f"s3://{server.bucket}/{name}",
        rows,
        storage_options={
            "aws_endpoint": server.endpoint,
            "aws_region": server.region,
            "aws_access_key_id": server.admin.access_key_id,
            "aws_secret_access_key": server.admin.secret_access_key,
            "aws_allow_http": "true",
        },
        **options,
    )


def delete_directory(server: SeaweedFS, name: str) -> None:
    """Delete every object below a directory of the bucket."""
    store = server.store()
    for batch in obstore.list(store, prefix=name):
        obstore.delete(store, [found["path"] for found in batch])
