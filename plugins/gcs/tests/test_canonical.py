from __future__ import annotations

import json
from datetime import timedelta
from typing import Literal

import pytest
from google.cloud import storage
from google.cloud.storage import _signing
from google.oauth2.service_account import Credentials

from sluicegate.api import ObjectRequest
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.signers import SignedUrls
from sluicegate_gcs.storage import GCSStorage
from sluicegate_testing.object_names import NAMES_TO_SIGN
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

AT = 1_767_225_600


CLOUD, EMULATOR = "https://storage.googleapis.com", "http://emulator:4443"
# A name is encoded in the same way for each endpoint and method.
CASES = [
    *(("GET", CLOUD, name) for name in NAMES_TO_SIGN),
    ("HEAD", CLOUD, NAMES_TO_SIGN[1]),
    ("GET", EMULATOR, NAMES_TO_SIGN[1]),
    ("HEAD", EMULATOR, NAMES_TO_SIGN[3]),
]


@pytest.mark.parametrize(("method", "endpoint", "name"), CASES)
async def test_urls_equal_those_of_googles_own_library(
    server: FakeGCS,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    endpoint: str,
    method: Literal["GET", "HEAD"],
) -> None:
    key = json.loads(server.service_account_key)
    credentials = Credentials.from_service_account_info(key)
    monkeypatch.setattr(_signing, "get_v4_now_dtstamps", lambda: ("20260101T000000Z", "20260101"))
    client = storage.Client(project="test", credentials=credentials)
    expected = (
        client.bucket("under_score.d")
        .blob(name)
        .generate_signed_url(
            version="v4",
            expiration=timedelta(seconds=900),
            api_access_endpoint=endpoint,
            method=method,
        )
    )

    config = GCSConfig(
        prefix="gs://under_score.d",
        endpoint=endpoint,
        service_account_key=server.service_account_key,
    )
    storage_of_bucket = GCSStorage(config, lambda: AT)
    signed = await storage_of_bucket.presign_request(
        ObjectRequest(method), [f"gs://under_score.d/{name}"], 900
    )
    if method == "GET":
        assert signed == await storage_of_bucket.presign([f"gs://under_score.d/{name}"], 900)

    assert signed.urls == [expected]
    assert signed.expires_at == (AT + 900) * 1000


def test_what_is_signed_is_written_as_google_documents_it() -> None:
    """The sample request of "Canonical requests", for a GET of one object."""
    signed = SignedUrls(
        origin="https://storage.googleapis.com",
        bucket="example-bucket",
        algorithm="GOOG4-RSA-SHA256",
        principal="example@example-project.iam.gserviceaccount.com",
        at=AT,
        expires_in=900,
    )

    (string,) = signed.strings_to_sign(["cat-pics/tabby.jpeg"])
    (url,) = signed.urls(["cat-pics/tabby.jpeg"], ["00ff"])

    algorithm, stamp, scope, digest = string.decode().split("\n")
    assert (algorithm, stamp) == ("GOOG4-RSA-SHA256", "20260101T000000Z")
    assert scope == "20260101/auto/storage/goog4_request"
    assert len(digest) == 64
    assert url == (
        "https://storage.googleapis.com/example-bucket/cat-pics/tabby.jpeg"
        "?X-Goog-Algorithm=GOOG4-RSA-SHA256"
        "&X-Goog-Credential=example%40example-project.iam.gserviceaccount.com"
        "%2F20260101%2Fauto%2Fstorage%2Fgoog4_request"
        "&X-Goog-Date=20260101T000000Z&X-Goog-Expires=900&X-Goog-SignedHeaders=host"
        "&X-Goog-Signature=00ff"
    )
