"""Recipients authenticate by mutual TLS: at the gateway itself, and behind a proxy that forwards."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import trustme
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

SHARES: dict[str, Any] = {
    "shares": {"sales": {}},
    "recipients": {
        "acme": {"shares": ["sales"]},
        "fenced": {"shares": ["sales"], "allow_from": ["203.0.113.0/24"]},
    },
}
AUTHENTICATION = {"authenticators": [{"type": "mtls"}]}
LISTING = "/delta-sharing/shares"
CATALOG = "/iceberg/v1/config?warehouse=sales"
AUTHORITY, UNTRUSTED = trustme.CA(), trustme.CA()
HEADER = "X-Client-Cert"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway with TLS that accepts certificates of one authority."""
    folder = tmp_path_factory.mktemp("mtls")
    server = AUTHORITY.issue_cert("127.0.0.1", "localhost")
    AUTHORITY.cert_pem.write_to_path(folder / "ca.pem")
    server.private_key_pem.write_to_path(folder / "server.key")
    server.cert_chain_pems[0].write_to_path(folder / "server.pem")
    files = {"certificate": "server.pem", "key": "server.key", "client_ca": "ca.pem"}
    tls = {key: str(folder / name) for key, name in files.items()}
    settings = {"server": {"tls": tls, "client_certificates": _proxies("192.0.2.1")}}
    write_configuration(folder, {**settings, "authentication": AUTHENTICATION}, SHARES)
    with running_gateway(folder) as running:
        yield running


def _proxies(address: str) -> dict[str, Any]:
    return {"proxies": [address], "header": HEADER, "format": "pem"}


def client(gateway: RunningGateway, *names: str, authority: trustme.CA = AUTHORITY) -> httpx.Client:
    """A client with a certificate of these common names; without names, with none."""
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    for name in names:
        authority.issue_cert(common_name=name).configure_cert(context)
    return httpx.Client(base_url=gateway.address, verify=context)


@pytest.mark.parametrize("path", [LISTING, CATALOG])
def test_a_certificate_is_enough_at_every_protocol(gateway: RunningGateway, path: str) -> None:
    assert gateway.address.startswith("https://")
    with client(gateway, "acme") as http:
        for _ in range(2):  # also for later requests of a connection
            assert http.get(path).status_code == 200
    assert gateway.logs("acme")


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("nobody", 401, "not registered as a recipient"),
        ("ACME", 401, "not registered as a recipient"),
        ("fenced", 403, "may not call from this address"),
    ],
)
def test_a_certificate_opens_only_what_its_recipient_may_open(
    gateway: RunningGateway, name: str, status: int, says: str
) -> None:
    with client(gateway, name) as http:
        answer = http.get(LISTING)
    assert (answer.status_code, says in answer.json()["message"]) == (status, True)


def test_clients_without_a_certificate_send_tokens(gateway: RunningGateway) -> None:
    gateway.profile("acme")
    token = httpx.Response(200, content=(gateway.folder / "acme.share").read_bytes()).json()
    bearer = {"Authorization": f"Bearer {token['bearerToken']}"}
    with client(gateway) as http:
        refused, admitted = http.get(LISTING), http.get(LISTING, headers=bearer)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert admitted.status_code == 200


def test_a_wrong_token_is_not_saved_by_a_certificate(gateway: RunningGateway) -> None:
    with client(gateway, "acme") as http:
        for header in (f"Bearer slg_{'x' * 43}", "Bearer wrong", "Basic eDp5"):
            assert http.get(LISTING, headers={"Authorization": header}).status_code == 401


def test_certificates_of_other_authorities_get_no_connection(gateway: RunningGateway) -> None:
    with client(gateway, "acme", authority=UNTRUSTED) as http, pytest.raises(httpx.TransportError):
        http.get(LISTING)


def forwarded(name: str) -> str:
    return quote(AUTHORITY.issue_cert(common_name=name).cert_chain_pems[0].bytes().decode())


def test_nobody_but_a_trusted_proxy_forwards_certificates(gateway: RunningGateway) -> None:
    headers = {HEADER: forwarded("acme"), "X-Forwarded-For": "192.0.2.1"}
    with client(gateway) as http:
        assert http.get(LISTING, headers=headers).status_code == 401


def test_a_trusted_proxy_forwards_certificates(tmp_path: Path) -> None:
    server = {"client_certificates": _proxies("127.0.0.1")}
    write_configuration(tmp_path, {"server": server, "authentication": AUTHENTICATION}, SHARES)
    with running_gateway(tmp_path) as gateway, httpx.Client(base_url=gateway.address) as http:

        def status(*headers: tuple[str, str]) -> int:
            return http.get(LISTING, headers=list(headers)).status_code

        acme = (HEADER, forwarded("acme"))
        client_address = ("X-Forwarded-For", "198.51.100.7")
        assert status(acme) == 200
        assert status(acme, client_address) == 200
        assert status((HEADER, forwarded("nobody"))) == 401
        assert status() == status(acme, acme) == status((HEADER, "x")) == 401
        # The address that the proxy reports counts for the recipient's networks.
        fenced = (HEADER, forwarded("fenced"))
        assert status(fenced, client_address) == 403
        assert status(fenced, ("X-Forwarded-For", "203.0.113.9")) == 200
