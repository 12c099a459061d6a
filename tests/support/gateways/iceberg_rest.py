"""A real Iceberg catalog with and without a credentials endpoint, and a gateway in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from pyiceberg.catalog.rest import RestCatalog
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

from sluicegate_testing.servers.catalog_http import Reply, Request, serve
from sluicegate_testing.servers.seaweedfs import SeaweedFS

SHARE, SCHEMA, WAREHOUSE = "lake", "eu", "warehouse"
_ENDPOINT = "/credentials"
_LEFT_OUT = frozenset({"s3.endpoint", "s3.region", "s3.path-style-access"})
_PASSED = ("authorization", "content-type", "x-iceberg-access-delegation")


@dataclass
class CatalogInFront:
    """SeaweedFS' catalog with the endpoint that it lacks, of Polaris' shape."""

    upstream: str
    uri: str = ""
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        """What the catalog says, or the credentials of what it says of the table."""
        self.asked.append((request.path, "x-iceberg-access-delegation" in request.headers))
        if not request.path.endswith(_ENDPOINT):
            return self._forward(request, {})
        table = Request("GET", request.path.removesuffix(_ENDPOINT), {}, request.headers, {})
        loaded = self._forward(table, {"X-Iceberg-Access-Delegation": "vended-credentials"})
        if loaded.status != 200:
            return loaded
        vended = [
            {**each, "config": {k: v for k, v in each["config"].items() if k not in _LEFT_OUT}}
            for each in loaded.document["storage-credentials"]
        ]
        return Reply(200, {"storage-credentials": vended})

    def _forward(self, request: Request, headers: dict[str, str]) -> Reply:
        passed = {name: value for name, value in request.headers.items() if name in _PASSED}
        answered = httpx.request(
            request.method,
            f"{self.upstream}{request.path}",
            params=request.query,
            headers=passed | headers,
            data=request.form or None,
        )
        return Reply(answered.status_code, answered.json() if answered.content else b"")


@contextmanager
def in_front_of(server: SeaweedFS) -> Iterator[CatalogInFront]:
    """Serve the catalog with a credentials endpoint, until the block ends."""
    catalog = CatalogInFront(server.iceberg_uri)

    def at(port: int) -> Callable[[Request], Reply]:
        catalog.uri = f"http://127.0.0.1:{port}"
        return catalog.answer

    with serve(at):
        yield catalog


def written_by(server: SeaweedFS) -> RestCatalog:
    """PyIceberg as the one who writes the tables."""
    admin = server.admin
    return RestCatalog(
        "written",
        **{
            "uri": server.iceberg_uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
        },
    )


@contextmanager
def gateway_of(
    folder: Path, server: SeaweedFS, uri: str, options: Mapping[str, Any] | None = None
) -> Iterator[tuple[RunningGateway, Recipient]]:
    """Share the namespace `eu` whole, and `orders` of it once more with directory access.

    The storage can do nothing by itself.
    """
    admin, nobody = server.admin, server.nobody
    oauth2 = {"client_id": admin.access_key_id, "client_secret": admin.secret_access_key}
    catalog = {"type": "iceberg", "uri": uri, "warehouse": WAREHOUSE, "oauth2": oauth2}
    storage = {
        "type": "s3",
        "prefix": f"s3://{WAREHOUSE}/",
        "endpoint": server.endpoint,
        "access_key_id": nobody.access_key_id,
        "secret_access_key": nobody.secret_access_key,
    }
    orders = {"catalog": "lake", "table": f"{SCHEMA}.orders", "access_modes": ["url", "dir"]}
    schemas = {
        SCHEMA: {"from": {"catalog": "lake", "schema": SCHEMA, **(options or {})}},
        "open": {"tables": {"orders": orders}},
    }
    with shared_from(folder, catalog, storage, schemas) as running:
        yield running


@contextmanager
def shared_from(
    folder: Path, catalog: Mapping[str, Any], storage: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[tuple[RunningGateway, Recipient]]:
    """A gateway that shares schemas of one catalog, `lake`, whose answers it does not keep."""
    write_configuration(
        folder,
        {
            "catalogs": {"lake": {**catalog, "max_age": 0, "stale_while_revalidate": 0}},
            "storage": [storage],
        },
        {
            "shares": {SHARE: {"schemas": schemas}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )
    with running_gateway(folder) as gateway:
        yield gateway, Recipient(gateway.profile("acme"), SHARE, SCHEMA)
