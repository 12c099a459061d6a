"""Connections that are opened after a reload get the renewed certificate."""

from __future__ import annotations

import signal
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import trustme
from support.gateways.gateway import RunningGateway, running_gateway

Wait = Callable[[RunningGateway, str, int], None]


class Certificates:
    """The certificate of a server in a folder, and the clients that trust its authority."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.folder = folder

    def renew(self) -> bytes:
        """Write another certificate and its key; the certificate in DER."""
        issued = self.authority.issue_cert("127.0.0.1")
        chain = issued.cert_chain_pems[0].bytes()
        (self.folder / "server.pem").write_bytes(chain)
        self._write_key(issued.private_key_pem.bytes())
        return ssl.PEM_cert_to_DER_cert(chain.decode())

    def break_key(self) -> None:
        """Write the key of another certificate."""
        self._write_key(self.authority.issue_cert("127.0.0.1").private_key_pem.bytes())

    def _write_key(self, key: bytes) -> None:
        file = self.folder / "server.key"
        file.touch(mode=0o600)
        file.write_bytes(key)

    def client(self, gateway: RunningGateway) -> httpx.Client:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return httpx.Client(base_url=gateway.address, verify=context)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    made = Certificates(tmp_path)
    made.renew()
    return made


@pytest.fixture
def gateway(certificates: Certificates) -> Iterator[RunningGateway]:
    (certificates.folder / "gateway.yaml").write_text(
        "server: {tls: {certificate: server.pem, key: server.key}}\n"
    )
    with running_gateway(certificates.folder) as gateway:
        yield gateway


def presented(client: httpx.Client) -> bytes | None:
    """The certificate that the server presents on the connection of a request, in DER."""
    with client.stream("GET", "/livez") as answer:
        assert answer.status_code == 200
        connection = answer.extensions["network_stream"].get_extra_info("ssl_object")
        found: bytes | None = connection.getpeercert(True)
        answer.read()  # so that the connection stays open
        return found


def test_new_connections_get_the_renewed_certificate(
    gateway: RunningGateway, certificates: Certificates, until_logged: Wait
) -> None:
    with certificates.client(gateway) as before:
        first = presented(before)
        renewed = certificates.renew()
        gateway.process.send_signal(signal.SIGHUP)
        until_logged(gateway, "the configuration was reloaded", 1)
        with certificates.client(gateway) as after:
            assert presented(after) == renewed
        assert presented(before) == first != renewed  # on the connection that was open already
        certificates.break_key()
        gateway.process.send_signal(signal.SIGHUP)
        until_logged(gateway, "the certificates cannot be used", 1)
        with certificates.client(gateway) as later:
            assert presented(later) == renewed
