"""What the documents describe and the gateway does not serve yet is refused clearly, never promised."""

from __future__ import annotations

import httpx
import pytest

TABLE = "/shares/sales/schemas/eu/tables/orders"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{TABLE}/temporary-volume-credentials"),
        ("GET", "/shares/sales/all-volumes"),
        ("GET", "/shares/sales/schemas/eu/models"),
    ],
)
def test_other_ways_in_do_not_exist(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path, json={} if method == "POST" else None)
    assert answer.status_code == 404
    assert answer.json() == {
        "errorCode": "RESOURCE_DOES_NOT_EXIST",
        "message": "there is no such route",
    }
