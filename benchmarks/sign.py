"""Presigned URLs per second of CPU, beside the clouds' own libraries, obstore and bare hashes."""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from benchmarks.peers.sign_azure import azure_works
from benchmarks.peers.sign_google import google_works
from benchmarks.peers.sign_r2 import r2_works
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, bare_hashes

_ORIGIN = "https://lake.s3.eu-west-1.amazonaws.com"
_REGION = "eu-west-1"
_ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE"
_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105 - AWS's own example
_EXPIRES_IN = 3600
_PLAIN = "s3_urls_per_cpu_second"
_WITH_TOKEN = "s3_urls_per_cpu_second_with_token"  # noqa: S105 - a figure's name
_WITH_LABEL = "s3_urls_per_cpu_second_with_label"

Work = Callable[[], object]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="URLs signed at once (default 10000)")
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each (default 15)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits all alike."""
    keys = _keys(options.files)
    token = _token()
    some = keys[: max(1, len(keys) // 10)]
    rates = _rates(
        {
            (_PLAIN, "sluicegate"): (_sluicegate(keys, None), len(keys)),
            (_WITH_TOKEN, "sluicegate"): (_sluicegate(keys, token), len(keys)),
            (_WITH_LABEL, "sluicegate"): (_sluicegate(keys, None, label=True), len(keys)),
            (_PLAIN, "obstore"): (_obstore(some, None), len(some)),
            (_WITH_TOKEN, "obstore"): (_obstore(some, token), len(some)),
            (_PLAIN, "botocore"): (_botocore(some, None), len(some)),
            (_WITH_TOKEN, "botocore"): (_botocore(some, token), len(some)),
            **azure_works(keys, _EXPIRES_IN),
            **google_works(keys, _EXPIRES_IN),
            **r2_works(keys, _EXPIRES_IN),
            (SHA256, "sluicegate"): (bare_hashes(len(keys)), len(keys)),
        },
        options.rounds,
    )
    figures: dict[str, dict[str, float]] = {}
    for (figure, who), rate in rates.items():
        figures.setdefault(who, {})[figure] = rate
    return Report(figures.pop("sluicegate"), figures)


def _rates(works: dict[tuple[str, str], tuple[Work, int]], rounds: int) -> dict[tuple[str, str], float]:
    """Median units per second of CPU of each work."""
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in works}
    for work, _ in works.values():
        work()
    for _ in range(rounds):
        for name, (work, _) in works.items():
            began = time.process_time()
            work()
            seconds[name].append(time.process_time() - began)
    return {name: round(size / statistics.median(seconds[name])) for name, (_, size) in works.items()}


def _sluicegate(keys: Sequence[str], token: str | None, *, label: bool = False) -> Work:
    """`Storage.presign_request` as a query calls it: locations in, URLs out."""
    from sluicegate.api import ObjectRequest, SecretStr, url_label
    from sluicegate_s3.config import S3Config
    from sluicegate_s3.credentials import StaticKey, fresh_credentials
    from sluicegate_s3.storage import S3Storage

    config = S3Config(prefix="s3://lake/", region=_REGION, label_urls=label)
    secret = StaticKey(_ACCESS_KEY_ID, SecretStr(_SECRET), SecretStr(token) if token else None)
    storage = S3Storage(config, fresh_credentials(secret))
    locations = [f"s3://lake/{key}" for key in keys]

    def sign() -> object:
        # Each response has another label, also if it is signed in the same second.
        request = ObjectRequest(label=url_label(str(uuid.uuid4())))
        return asyncio.run(storage.presign_request(request, locations, _EXPIRES_IN))

    return sign


def _obstore(keys: Sequence[str], token: str | None) -> Work:
    import obstore
    from obstore.store import S3Store

    session: dict[str, Any] = {} if token is None else {"session_token": token}
    store = S3Store(
        "lake",
        region=_REGION,
        access_key_id=_ACCESS_KEY_ID,
        secret_access_key=_SECRET,
        virtual_hosted_style_request=True,
        endpoint=_ORIGIN,
        **session,
    )

    async def sign() -> object:
        return await obstore.sign_async(store, "GET", keys, timedelta(seconds=_EXPIRES_IN))

    return lambda: asyncio.run(sign())


def _botocore(keys: Sequence[str], token: str | None) -> Work:
    from botocore.auth import S3SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from botocore.utils import percent_encode

    signer: Any = S3SigV4QueryAuth(
        Credentials(_ACCESS_KEY_ID, _SECRET, token), "s3", _REGION, expires=_EXPIRES_IN
    )

    def sign() -> list[str]:
        requests = [
            AWSRequest(method="GET", url=f"{_ORIGIN}/{percent_encode(key, safe='/~')}") for key in keys
        ]
        for request in requests:
            signer.add_auth(request)
        return [request.url for request in requests]

    return sign


def _keys(count: int) -> list[str]:
    """Keys as Spark writes them into a partitioned table."""
    source = random.Random(7)
    return [
        f"sales/orders/date=2026-{i % 12 + 1:02d}-{i % 28 + 1:02d}/part-{i:05d}-"
        f"{uuid.UUID(int=source.getrandbits(128))}.c000.snappy.parquet"
        for i in range(count)
    ]


def _token() -> str:
    """A session token of 800 characters, with base64's reserved ones in it."""
    source = random.Random(7)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(source.choices(alphabet, k=800))
