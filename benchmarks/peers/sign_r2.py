"""Presigned URLs of Cloudflare R2, beside boto3's client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

_FIGURE = "r2_urls_per_cpu_second"
_HOST = "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
_ACCESS_KEY_ID = "0123456789abcdef"
_SECRET = "example"  # noqa: S105 - signs nothing real


def r2_works(
    keys: Sequence[str], expires_in: int
) -> dict[tuple[str, str], tuple[Callable[[], object], int]]:
    """What is measured, by figure and by who does it: the work, and its number of URLs."""
    some = keys[: max(1, len(keys) // 10)]
    return {
        (_FIGURE, "sluicegate"): (_sluicegate(keys, expires_in), len(keys)),
        (_FIGURE, "boto3"): (_boto3(some, expires_in), len(some)),
    }


def _sluicegate(keys: Sequence[str], expires_in: int) -> Callable[[], object]:
    """`Storage.presign` as a query calls it: locations in, URLs out."""
    from sluicegate_r2.config import R2Config
    from sluicegate_r2.storage import R2Storage
    from sluicegate_testing.fakes import FakeContext

    bucket = f"r2://lake@{_HOST}/"
    settings = {"access_key_id": _ACCESS_KEY_ID, "secret_access_key": _SECRET}
    config = R2Config.model_validate({"prefix": bucket, **settings})
    storage = R2Storage.configured(config, FakeContext())
    locations = [f"{bucket}{key}" for key in keys]
    return lambda: asyncio.run(storage.presign(locations, expires_in))


def _boto3(keys: Sequence[str], expires_in: int) -> Callable[[], object]:
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        endpoint_url=f"https://{_HOST}",
        region_name="auto",
        aws_access_key_id=_ACCESS_KEY_ID,
        aws_secret_access_key=_SECRET,
        config=Config(signature_version="s3v4"),
    )
    return lambda: [
        client.generate_presigned_url(
            "get_object", Params={"Bucket": "lake", "Key": key}, ExpiresIn=expires_in
        )
        for key in keys
    ]
