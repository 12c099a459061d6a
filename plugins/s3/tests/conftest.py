from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.moto import moto_server
from sluicegate_testing.servers.scripted_aws import ScriptedAWS
from sluicegate_testing.servers.seaweedfs import SeaweedFS

__all__ = ["no_secret_leaks"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """Return the endpoint of moto's server."""
    with moto_server() as endpoint:
        yield endpoint


@pytest.fixture
def service() -> Iterator[ScriptedAWS]:
    with ScriptedAWS.start() as running:
        yield running


@pytest.fixture
def no_ambient_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide credentials from botocore, and return the folder of its shared files."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path
