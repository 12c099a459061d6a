"""Azurite, an emulator of Azure Blob Storage that checks shared access signatures and their expiry.

It is installed from npm when it is first needed. It serves HTTPS with a generated certificate, because
Azure's libraries require HTTPS for tokens. It checks neither the signature of Entra tokens nor the
address from which a signature is used, and has no directories (`sr=d`, Data Lake's API).
"""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import shutil
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import jwt

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers._certificate import CertificateFiles, make_certificate
from sluicegate_testing.servers._npm_install import NpmMissing, npm_package
from sluicegate_testing.servers.ports import free_port

if TYPE_CHECKING:
    from obstore.store import AzureStore

__all__ = ["Azurite", "AzuriteError", "AzuriteMissing"]

_VERSION = "3.37.0"
_MAIN = Path("dist", "src", "blob", "main.js")
_LOG_FILE = "azurite.log"
_START_ATTEMPTS = 3
_START_SECONDS = 60.0
_SAS_VERSION = "2022-11-02"
_TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"
_OBJECT = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


class AzuriteError(RuntimeError):
    """The server did not start."""


class AzuriteMissing(RuntimeError):
    """Azurite is not installed, and the installation failed."""


@dataclass(frozen=True)
class Azurite:
    """A running server on loopback.

    Attributes:
        account: The storage account.
        account_key: Its key, in base64.
        container: A container in it.
        endpoint: `https://127.0.0.1:<port>/<account>`, the account's blob service.
        certificate: PEM file of the authority that clients must trust.
    """

    account: str
    account_key: str = field(repr=False)
    container: str
    endpoint: str
    certificate: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    @classmethod
    @contextmanager
    def start(cls, directory: Path, *, container: str = "lake") -> Iterator[Azurite]:
        """Run a server until the context ends.

        Args:
            directory: Directory for its certificate and log, such as a new temporary one.
            container: Name of the container to create.

        Raises:
            AzuriteError: The server did not start.
            AzuriteMissing: The server is not installed, and the installation failed.
        """
        server = _start(directory, container)
        keep_secret(server.account_key)
        try:
            yield server
        finally:
            server.kill()

    @classmethod
    @contextmanager
    def for_tests(cls, directory: Path) -> Iterator[Azurite]:
        """Run a server that this process and its children trust.

        Without Node.js, the test is skipped. With `CI=true` in the environment, it fails instead.
        """
        import pytest

        try:
            with cls.start(directory) as server, pytest.MonkeyPatch.context() as patch:
                for name, value in server.trust.items():
                    patch.setenv(name, value)
                yield server
        except AzuriteMissing as missing:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"not available: Azurite ({missing})")

    @property
    def prefix(self) -> str:
        """The container's location, for configurations."""
        return f"abfss://{self.container}@{self.account}.dfs.core.windows.net/"

    @property
    def trust(self) -> dict[str, str]:
        """Environment variables that make Python's and Rust's clients trust the certificate."""
        return dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(self.certificate))

    def store(self) -> AzureStore:
        """An obstore store over the container, with the account's key."""
        from obstore.store import AzureStore

        return AzureStore(
            self.container,
            account_name=self.account,
            account_key=self.account_key,
            endpoint=self.endpoint,
            client_options={"root_certificate": self.certificate.read_bytes()},
            retry_config={"max_retries": 0},
        )

    def token(self, lifetime: int = 3600) -> str:
        """Return an Entra token with all permissions. The server checks its claims, not its signature.

        Args:
            lifetime: Lifetime in seconds.
        """
        now = int(time.time())
        claims = {
            "aud": "https://storage.azure.com",
            "iss": f"https://sts.windows.net/{_TENANT}/",
            "oid": _OBJECT,
            "tid": _TENANT,
            "nbf": now - 60,
            "iat": now - 60,
            "exp": now + lifetime,
        }
        token = jwt.encode(claims, secrets.token_hex(32))
        keep_secret(token)
        return token

    def put(self, name: str, data: bytes) -> None:
        """Write a blob."""
        import obstore

        obstore.put(self.store(), name, data)

    def kill(self) -> None:
        """Stop immediately, as in a crash."""
        self.process.kill()
        self.process.wait()


def _start(directory: Path, container: str) -> Azurite:
    directory.mkdir(parents=True, exist_ok=True)
    command = _installed()
    files = make_certificate(directory)
    # Unique names and keys, so that the server of another test is never mistaken for this one.
    account = f"acct{secrets.token_hex(6)}"
    key = base64.b64encode(secrets.token_bytes(64)).decode()
    for _ in range(_START_ATTEMPTS):
        port = free_port()
        process = _spawn([*command, f"--blobPort={port}"], directory, files, f"{account}:{key}")
        endpoint = f"https://127.0.0.1:{port}/{account}"
        server = Azurite(account, key, container, endpoint, files.authority, process)
        if _ready(server):
            return server
        server.kill()
    words = (directory / _LOG_FILE).read_text(errors="replace")[-2000:]
    raise AzuriteError(f"Azurite did not start:\n{words}")


def _installed() -> list[str]:
    """Return the command of the blob service. Installs Azurite if necessary."""
    node = shutil.which("node")
    if node is None:
        raise AzuriteMissing("install Node.js and npm to run the tests on Azure")
    try:
        return [node, str(npm_package("azurite", _VERSION) / _MAIN)]
    except NpmMissing as missing:
        raise AzuriteMissing(str(missing)) from missing


def _spawn(
    command: list[str], directory: Path, files: CertificateFiles, account: str
) -> subprocess.Popen[bytes]:
    with (directory / _LOG_FILE).open("wb") as output:
        return subprocess.Popen(
            [
                *command,
                "--blobHost=127.0.0.1",
                f"--cert={files.certificate}",
                f"--key={files.key}",
                "--oauth=basic",
                "--inMemoryPersistence",
                "--skipApiVersionCheck",
                "--disableTelemetry",
                "--silent",
            ],
            cwd=directory,
            env={**os.environ, "AZURITE_ACCOUNTS": account},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _ready(server: Azurite) -> bool:
    """Wait until the server has created the container, which requires the key of this test."""
    deadline = time.monotonic() + _START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):
            _create_container(server)
            return True
        time.sleep(0.1)
    return False


def _create_container(server: Azurite) -> None:
    url = f"{server.endpoint}/{server.container}?restype=container&{_account_sas(server)}"
    request = urllib.request.Request(url, method="PUT", headers={"Content-Length": "0"})  # noqa: S310
    context = ssl.create_default_context(cafile=server.certificate)
    with urllib.request.urlopen(request, context=context):  # noqa: S310 - our own server
        pass


def _account_sas(server: Azurite) -> str:
    """Return a signature that allows creating containers (Azure's REST reference, "account SAS")."""
    expiry = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"sp": "c", "ss": "b", "srt": "c", "st": "", "se": expiry, "sip": "", "spr": "https"}
    lines = [server.account, *fields.values(), _SAS_VERSION, "", ""]
    digest = hmac.digest(base64.b64decode(server.account_key), "\n".join(lines).encode(), "sha256")
    signed = {**fields, "sv": _SAS_VERSION, "sig": base64.b64encode(digest).decode()}
    return urlencode({name: value for name, value in signed.items() if value})
