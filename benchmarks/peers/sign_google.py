"""Signed URLs of Google Cloud Storage: by a private key, beside Google's library, and by HMAC."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

_RSA = "google_rsa_urls_per_cpu_second"
_HMAC = "google_hmac_urls_per_cpu_second"


def google_works(
    keys: Sequence[str], expires_in: int
) -> dict[tuple[str, str], tuple[Callable[[], object], int]]:
    """What is measured, by figure and by who does it: the work, and its number of URLs.

    A private key costs a thousand times an HMAC, so fewer URLs are signed with it. Google's library
    cannot sign with an HMAC key.
    """
    some = keys[: max(1, len(keys) // 20)]
    key = _service_account_key()
    hmac_key = {"hmac_access_id": "GOOG1EXAMPLE", "hmac_secret": "example"}
    return {
        (_RSA, "sluicegate"): (_sluicegate(some, expires_in, {"service_account_key": key}), len(some)),
        (_RSA, "google-cloud-storage"): (_google(some, expires_in, key), len(some)),
        (_HMAC, "sluicegate"): (_sluicegate(keys, expires_in, hmac_key), len(keys)),
    }


def _sluicegate(keys: Sequence[str], expires_in: int, signing: dict[str, Any]) -> Callable[[], object]:
    """`Storage.presign` as a query calls it: locations in, URLs out."""
    from sluicegate_gcs.config import GCSConfig
    from sluicegate_gcs.storage import GCSStorage

    storage = GCSStorage(GCSConfig.model_validate({"prefix": "gs://lake/", **signing}))
    locations = [f"gs://lake/{key}" for key in keys]
    return lambda: asyncio.run(storage.presign(locations, expires_in))


def _google(keys: Sequence[str], expires_in: int, key: str) -> Callable[[], object]:
    from google.cloud import storage
    from google.oauth2.service_account import Credentials

    credentials = Credentials.from_service_account_info(json.loads(key))
    bucket = storage.Client(project="lake", credentials=credentials).bucket("lake")
    lifetime = timedelta(seconds=expires_in)
    return lambda: [
        bucket.blob(key).generate_signed_url(version="v4", expiration=lifetime) for key in keys
    ]


def _service_account_key() -> str:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return json.dumps(
        {
            "type": "service_account",
            "client_email": "lake@example.iam.gserviceaccount.com",
            "private_key": pem.decode(),
            "token_uri": "https://oauth2.googleapis.com/token",
        }
    )
