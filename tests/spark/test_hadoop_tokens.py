"""An unmodified Spark with hadoop-aws reads with only a token file and the printed settings.

Tokens are read when a JVM starts, so one job in a separate process does all reads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import obstore
import pyarrow as pa
import pytest
from obstore.store import S3Store
from support.clients.spark_reading import read_by_spark
from support.gateways.hadoop_lake import HadoopLake, hadoop_lake, vending_storage
from support.gateways.s3_lake import write_table
from support.process.spark import require_spark

from sluicegate._util.clock import epoch_ms
from sluicegate.vending.hadoop.identifier import decode_identifier
from sluicegate.vending.hadoop.token import from_url
from sluicegate.vending.hadoop.token_file import TokenFile
from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = pytest.mark.slow

IDS = list(range(20))
ROWS = pa.table({"id": pa.array(IDS, pa.int64()), "city": ["Köln", "Ulm"] * 10})
SESSION_SECONDS = 15
ARCHIVE, CLOSED, BRIEF = "archive", "closed", "brief"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, dict[str, Any]]]:
    """Return the ids of the rows that one job could read, or Java's error, by the name of the read."""
    require_spark()
    folder = tmp_path_factory.mktemp("hadoop")
    with (
        SeaweedFS.start(folder / "lake") as server,
        SeaweedFS.start(folder / BRIEF, bucket=BRIEF, session_seconds=SESSION_SECONDS) as brief,
    ):
        for store in (server, brief):
            write_table(store, "orders", ROWS)
        write_table(server, "secret", ROWS)
        storage = [vending_storage(server), vending_storage(brief), _key_storage(server, ARCHIVE)]
        buckets = (server.bucket, BRIEF, ARCHIVE)
        tables = {bucket: {"table": f"s3://{bucket}/orders"} for bucket in buckets}
        with hadoop_lake(folder / "gateway", storage, tables) as lake:
            _check_that_it_opens(brief, lake.ask(BRIEF).json()["tokens"][0]["token"])
            yield _read_all(lake, folder)


def test_a_delta_table_is_read(read: Mapping[str, dict[str, Any]]) -> None:
    assert read["delta"] == {"ids": IDS}


def test_parquet_files_are_read(read: Mapping[str, dict[str, Any]]) -> None:
    assert read["parquet"] == {"ids": IDS}


def test_tokens_of_kind_full_open_their_bucket_beside_others(
    read: Mapping[str, dict[str, Any]],
) -> None:
    assert read["full"] == {"ids": IDS}


def test_a_sibling_of_the_table_is_refused_by_the_store(read: Mapping[str, dict[str, Any]]) -> None:
    assert "Status Code: 403" in read["sibling"]["error"]


def test_a_bucket_without_a_token_is_refused_and_does_not_fall_open(
    read: Mapping[str, dict[str, Any]],
) -> None:
    said = "NoAwsCredentialsException: Session credentials in Hadoop configuration: No AWS Credentials"
    assert said in read["other bucket"]["error"]


def test_a_token_that_has_expired_is_refused_by_the_store(read: Mapping[str, dict[str, Any]]) -> None:
    # SeaweedFS has forgotten its key by then; AWS says ExpiredToken.
    assert "Status Code: 403" in read["expired"]["error"]
    assert "InvalidAccessKeyId" in read["expired"]["error"]


def _key_storage(server: SeaweedFS, bucket: str) -> dict[str, Any]:
    """A bucket whose tokens contain the administrator's key."""
    admin = server.admin
    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=server.region,
        aws_access_key_id=admin.access_key_id,
        aws_secret_access_key=admin.secret_access_key,
    )
    client.create_bucket(Bucket=bucket)
    client.close()
    write_table(replace(server, bucket=bucket), "orders", ROWS)
    section = vending_storage(server, bucket, allowed_bindings=["full"])
    return section | {
        "access_key_id": admin.access_key_id,
        "secret_access_key": admin.secret_access_key,
    }


def _read_all(lake: HadoopLake, folder: Path) -> Mapping[str, dict[str, Any]]:
    tokens = folder / "tokens.hdts"
    conf = _issue(lake, "acme", tokens, "lake.sales.lake", "lake.sales.brief")
    conf |= _issue(lake, "trusted", tokens, "lake.sales.archive", "--append", "--binding", "full")
    conf |= {name.replace(".lake.", f".{CLOSED}."): value for name, value in conf.items()}
    _wait_for_the_end(tokens, f"s3a://{BRIEF}")
    reads = {
        "delta": ("delta", "s3a://lake/orders"),
        "parquet": ("parquet", "s3a://lake/orders/*.parquet"),
        "full": ("delta", f"s3a://{ARCHIVE}/orders"),
        "sibling": ("delta", "s3a://lake/secret"),
        "other bucket": ("delta", f"s3a://{CLOSED}/orders"),
        "expired": ("parquet", f"s3a://{BRIEF}/orders/*.parquet"),
    }
    return read_by_spark(folder / "spark", conf, reads, {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)})


def _issue(lake: HadoopLake, recipient: str, file: Path, *arguments: str) -> dict[str, str]:
    """Get tokens as a recipient does, and return the printed lines for spark-defaults.conf."""
    done = lake.command(*arguments, "-o", str(file), recipient=recipient)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("spark.")]
    return dict(line.split(maxsplit=1) for line in lines)


def _check_that_it_opens(server: SeaweedFS, token: str) -> None:
    """Check that a token opens the table. Tests with a short lifetime call this before it expires."""
    identifier, _ = decode_identifier(from_url(token).identifier)
    secret = identifier.credentials
    store = S3Store(
        server.bucket,
        endpoint=server.endpoint,
        region=server.region,
        access_key_id=secret.access_key,
        secret_access_key=secret.secret_key,
        session_token=secret.session_token,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )
    assert obstore.list(store, prefix="orders/").collect()


def _wait_for_the_end(file: Path, service: str) -> None:
    token = TokenFile.decode(file.read_bytes()).tokens[service]
    identifier, _ = decode_identifier(token.identifier)
    time.sleep(max(0, identifier.max_date - epoch_ms()) / 1000 + 1)
