"""The assembled catalog has the gateway's address, keys and limits."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from support.clients.asgi import ask
from support.gateways.iceberg_in_memory import IcebergInMemory
from support.gateways.in_memory import by_name
from support.gateways.parts import gateway_parts

from sluicegate._util.lazy import Lazy
from sluicegate.config import Settings
from sluicegate.protocols import parts
from sluicegate.protocols.iceberg_rest.assembly import iceberg_routes
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

KNOWN = {"authorization": "Bearer acme"}
TABLES = "/iceberg/v1/shares/sales/namespaces/eu/tables"
KEYS = KeyRing((b"new", b"old"))


def catalog(keys: KeyRing = KEYS) -> Starlette:
    settings = Settings.model_validate({"limits": {"request_body": {"sharing": 100}}})
    iceberg = IcebergInMemory()
    made = gateway_parts(iceberg.made, settings, keys=keys, authentication=by_name())
    return Starlette(routes=iceberg_routes(made, Lazy(lambda: iceberg.files)))


async def token(app: Starlette) -> str:
    answer = await ask(app, f"{TABLES}?pageSize=1", KNOWN)
    found: str = answer.json["next-page-token"]
    return found


async def test_the_catalog_is_below_the_address_in_profiles() -> None:
    app = catalog()
    assert (await ask(app, "/iceberg/v1/config?warehouse=sales", KNOWN)).status == 200
    assert (await ask(app, "/v1/config?warehouse=sales", KNOWN)).status == 404


@pytest.mark.parametrize(("length", "status"), [(100, 204), (101, 413)])
async def test_the_longest_body_is_the_configured_one(length: int, status: int) -> None:
    answer = await ask(
        catalog(), f"{TABLES}/orders/metrics", KNOWN, method="POST", body=b"{}".ljust(length)
    )
    assert answer.status == status


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        (KEYS, 200),
        (KeyRing((b"newest", b"new")), 200),
        (KeyRing((b"other",)), 400),
        (KEYS.derive("page tokens"), 400),
    ],
)
async def test_page_tokens_are_valid_at_every_gateway_with_the_keys(keys: KeyRing, status: int) -> None:
    issued = await token(catalog())
    answer = await ask(catalog(keys), f"{TABLES}?pageSize=1&pageToken={issued}", KNOWN)
    assert answer.status == status


async def test_page_tokens_expire_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    lifetimes: list[int] = []

    class Signer(TokenSigner):
        def __init__(self, keys: KeyRing, lifetime: int) -> None:
            lifetimes.append(lifetime)
            super().__init__(keys, lifetime)

    monkeypatch.setattr(parts, "TokenSigner", Signer)
    catalog()
    assert lifetimes == [3600]
