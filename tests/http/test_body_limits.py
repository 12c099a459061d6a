"""Each endpoint of the gateway refuses bodies that are longer than its setting allows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.gateways.gateway import sluicegate, write_configuration
from support.gateways.in_process import Answer, InProcessGateway, Request, in_process_gateway

from sluicegate.config import load_settings

SHARING, OAUTH = 2_000, 16_384
TABLE = "/delta-sharing/shares/sales/schemas/eu/tables/orders"
ENDPOINTS = {
    f"{TABLE}/query": SHARING,
    f"{TABLE}/queries/q": SHARING,
    f"{TABLE}/temporary-table-credentials": SHARING,
    f"{TABLE}/hadoop-delegation-token": SHARING,
    "/iceberg/v1/shares/sales/namespaces/eu/tables/orders/metrics": SHARING,
    "/oauth/token": OAUTH,
    "/iceberg/v1/oauth/tokens": OAUTH,
}


@dataclass(frozen=True)
class Limited:
    """A gateway with low limits, and a recipient's token."""

    gateway: InProcessGateway
    token: str

    def post(self, path: str, length: int) -> Answer:
        """Send a body of so many bytes."""
        headers = [("authorization", f"Bearer {self.token}")]
        return self.gateway.send(Request("POST", path, headers, b"x" * length))


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    folder = tmp_path_factory.mktemp("limited")
    write_configuration(
        folder,
        {
            "database": f"sqlite:///{folder}/gateway.db",
            "limits": {"request_body": {"sharing": SHARING}},
        },
        {"shares": {"sales": {}}, "recipients": {"acme": {"shares": ["sales"]}}},
    )
    sluicegate(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    token = json.loads((folder / "acme.share").read_text())["bearerToken"]
    with in_process_gateway(load_settings(folder / "gateway.yaml")) as gateway:
        yield Limited(gateway, token)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_longer_body_is_refused(limited: Limited, path: str) -> None:
    answer = limited.post(path, ENDPOINTS[path] + 1)
    assert answer.status == 413, answer.body
    assert f"larger than {ENDPOINTS[path]} bytes" in answer.body.decode()


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_body_of_the_limit_is_read(limited: Limited, path: str) -> None:
    assert limited.post(path, ENDPOINTS[path]).status in (400, 401)
