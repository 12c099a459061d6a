from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

__all__ = ["no_secret_leaks"]

Connected = Callable[..., GCSStorage]


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGCS]:
    with FakeGCS.start(tmp_path_factory.mktemp("fake-gcs")) as running:
        yield running


@pytest.fixture
def server(started: FakeGCS) -> FakeGCS:
    """Return the store, whose token services have received no request yet."""
    started.apis.requests.clear()
    started.apis.refuses.clear()
    started.apis.token_seconds = 3600
    return started


@pytest.fixture
def connected(server: FakeGCS) -> Connected:
    """Creates a storage of the store, by default with its service account."""

    def connected(**settings: Any) -> GCSStorage:
        return GCSStorage(
            GCSConfig.model_validate(
                {
                    "prefix": f"gs://{server.bucket}/",
                    "endpoint": server.endpoint,
                    "iam_endpoint": server.endpoint,
                    "sts_endpoint": server.endpoint,
                    "service_account_key": server.service_account_key,
                    "vending": True,
                    **settings,
                }
            )
        )

    return connected


@pytest.fixture
def default_credentials(
    server: FakeGCS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Creates application default credentials: a workload's federated identity, or another document."""

    def set_them(document: dict[str, Any] | None = None) -> None:
        subject = tmp_path / "subject-token"
        subject.write_text(server.apis.subject_token())
        federated = {
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{server.endpoint}/v1/token",
            "credential_source": {"file": str(subject)},
        }
        file = tmp_path / "default.json"
        file.write_text(json.dumps(document or federated))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    return set_them
