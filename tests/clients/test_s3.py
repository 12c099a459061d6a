"""Tables in a real S3 store: read by the official client, by plain HTTP, and when the store fails."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from support.clients.recipient import refusal_of
from support.gateways.s3_lake import SCHEMA, S3Lake, delete_directory, s3_lake, storage_of, write_table
from support.servers.s3_folder import serving_s3
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table(
    {
        "id": pa.array(range(60), pa.int64()),
        "city": [("Köln", "a b/c", "50% off", "x=y&z")[number % 4] for number in range(60)],
        "amount": [number / 7 for number in range(60)],
    }
)
OTHER_ROWS = pa.table({"name": ["new"], "count": pa.array([7], pa.int32())})
ORDERS = "orders"
# Shared from the start, written when a test wants them.
LATER = ["corrupt", "replaced", "replaced-1", "replaced-2", "replaced-3"]
SECRETS = ("X-Amz-Signature", "X-Amz-Credential")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        write_table(running, ORDERS, ROWS, partition_by=["city"])
        yield running


@pytest.fixture(scope="module")
def lake(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Lake]:
    with s3_lake(tmp_path_factory.mktemp("gateway"), storage_of(server), [ORDERS, *LATER]) as running:
        yield running
        _assert_clean_log(running)


@pytest.mark.parametrize("use_delta_format", [None, False, True])
def test_a_partitioned_table_is_read(lake: S3Lake, use_delta_format: bool | None) -> None:
    assert_same_rows(ROWS, lake.recipient.read(ORDERS, use_delta_format=use_delta_format))


def test_an_assumed_role_reads_like_a_key(server: SeaweedFS, tmp_path: Path) -> None:
    role = {
        **storage_of(server),
        "role_arn": server.role_arn,
        "sts_endpoint": server.endpoint,
        "role_session_duration": 900,
    }
    with s3_lake(tmp_path, role, [ORDERS], sharing={"presigned_url_ttl": "12h"}) as lake:
        assert_same_rows(ROWS, lake.recipient.read(ORDERS))
        in_an_hour = (time.time() + 3600) * 1000
        assert all(file["expirationTimestamp"] < in_an_hour for file in lake.files(ORDERS))
        _assert_clean_log(lake)


def test_urls_are_read_with_plain_http(lake: S3Lake) -> None:
    files = lake.files(ORDERS)
    contents = [httpx.get(file["url"]).content for file in files]
    assert [len(content) for content in contents] == [file["size"] for file in files]
    assert sum(pq.read_metadata(io.BytesIO(content)).num_rows for content in contents) == len(ROWS)


def test_ranges_of_urls_are_read(lake: S3Lake) -> None:
    answer = httpx.get(lake.files(ORDERS)[0]["url"], headers={"Range": "bytes=0-3"})
    assert (answer.status_code, answer.content) == (206, b"PAR1")


def _other_signature(url: str) -> str:
    return url[:-1] + ("0" if url[-1] != "0" else "1")


def _other_object(url: str) -> str:
    return url.replace(".parquet?", ".parquet2?")


def _log_instead(url: str) -> str:
    key = urlsplit(url).path
    return url.replace(key, f"{key.split(f'/{ORDERS}/')[0]}/{ORDERS}/_delta_log/{0:020}.json")


def _longer_life(url: str) -> str:
    assert "X-Amz-Expires=3600" in url
    return url.replace("X-Amz-Expires=3600", "X-Amz-Expires=36000")


def _unsigned(url: str) -> str:
    return url.partition("?")[0]


@pytest.mark.parametrize(
    "tamper", [_other_signature, _other_object, _log_instead, _longer_life, _unsigned]
)
def test_a_tampered_url_is_refused_by_the_store(lake: S3Lake, tamper: Callable[[str], str]) -> None:
    url = lake.files(ORDERS)[0]["url"]
    assert httpx.get(url).status_code == 200
    assert httpx.get(tamper(url)).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_url_only_reads(lake: S3Lake, method: str) -> None:
    file = lake.files(ORDERS)[0]
    before = httpx.get(file["url"]).content
    assert httpx.request(method, file["url"], content=b"mine now").status_code in (403, 405)
    assert httpx.get(file["url"]).content == before


def test_an_expired_url_is_refused_by_the_store(server: SeaweedFS, tmp_path: Path) -> None:
    with s3_lake(tmp_path, storage_of(server), [ORDERS], sharing={"presigned_url_ttl": 2}) as lake:
        file = lake.files(ORDERS)[0]
        assert httpx.get(file["url"]).status_code == 200
        time.sleep(max(0.0, file["expirationTimestamp"] / 1000 - time.time()) + 1)
        assert httpx.get(file["url"]).status_code == 403


def test_a_key_that_may_not_read_is_a_clear_error(server: SeaweedFS, tmp_path: Path) -> None:
    with s3_lake(tmp_path, storage_of(server, server.nobody), [ORDERS]) as lake:
        _assert_unavailable(lake.query(ORDERS))
        _assert_clean_log(lake)


def test_a_killed_store_is_reported_quickly_and_recovers_by_itself(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path / "store") as server:
        write_table(server, ORDERS, ROWS)
        with s3_lake(tmp_path / "gateway", storage_of(server), [ORDERS]) as lake:
            assert_same_rows(ROWS, lake.recipient.read(ORDERS))
            server.kill()
            _assert_store_is_missed(lake)
            assert lake.get(f"schemas/{SCHEMA}/tables/{ORDERS}").status_code == 200
            with server.restarted():
                assert lake.query(ORDERS).status_code == 200
                assert_same_rows(ROWS, lake.recipient.read(ORDERS))
            _assert_clean_log(lake)


def test_a_table_that_was_never_read_is_unavailable_without_its_store(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path / "store") as server:
        write_table(server, ORDERS, ROWS)
        with s3_lake(tmp_path / "gateway", storage_of(server), [ORDERS]) as lake:
            server.kill()
            _assert_store_is_missed(lake)
            with server.restarted():
                assert_same_rows(ROWS, lake.recipient.read(ORDERS))
            _assert_clean_log(lake)


def test_a_store_that_hangs_is_unavailable(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path / "store") as server:
        write_table(server, ORDERS, ROWS)
        with s3_lake(tmp_path / "gateway", storage_of(server), [ORDERS]) as lake:
            server.process.send_signal(signal.SIGSTOP)
            _assert_unavailable(lake.query(ORDERS))
            assert lake.get("all-tables").status_code == 200
            server.process.send_signal(signal.SIGCONT)
            assert_same_rows(ROWS, lake.recipient.read(ORDERS))
            _assert_clean_log(lake)


def test_a_table_without_its_log_is_a_clear_error_and_a_new_one_is_served(
    server: SeaweedFS, lake: S3Lake
) -> None:
    write_table(server, "replaced", ROWS)
    assert_same_rows(ROWS, lake.recipient.read("replaced"))
    delete_directory(server, "replaced")
    refusal = refusal_of(lambda: lake.recipient.read("replaced"))
    assert (refusal.status, refusal.code) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert "_delta_log" in refusal.message
    assert lake.get("all-tables").status_code == 200
    write_table(server, "replaced", OTHER_ROWS)
    assert_same_rows(OTHER_ROWS, lake.recipient.read("replaced"))


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_a_table_that_was_replaced_unnoticed_is_served_fresh(
    server: SeaweedFS, lake: S3Lake, versions: int
) -> None:
    name = f"replaced-{versions}"
    write_table(server, name, ROWS)
    write_table(server, name, ROWS, mode="append")
    assert len(lake.recipient.read(name)) == 2 * len(ROWS)
    delete_directory(server, name)
    for _ in range(versions):
        write_table(server, name, OTHER_ROWS, mode="append")
    assert_same_rows(pa.concat_tables([OTHER_ROWS] * versions), lake.recipient.read(name))


def test_a_corrupt_log_is_a_clear_error_until_it_is_mended(server: SeaweedFS, lake: S3Lake) -> None:
    write_table(server, "corrupt", ROWS)
    assert_same_rows(ROWS, lake.recipient.read("corrupt"))
    commit = f"corrupt/_delta_log/{1:020}.json"
    server.put(commit, b'{"add": {"path": "half of a')
    refusal = refusal_of(lambda: lake.recipient.read("corrupt"))
    assert (refusal.status, refusal.code) == (400, "TABLE_UNREADABLE")
    assert lake.get("all-tables").status_code == 200
    server.delete(commit)
    assert_same_rows(ROWS, lake.recipient.read("corrupt"))


def test_a_store_that_fails_or_is_full_is_unavailable(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "bucket" / ORDERS, ROWS)
    with serving_s3(tmp_path / "bucket") as store:
        section = {
            "type": "s3",
            "prefix": "s3://lake/",
            "endpoint": store.endpoint,
            "access_key_id": "any",
            "secret_access_key": "a key that nobody checks",
        }
        with s3_lake(tmp_path / "gateway", section, [ORDERS]) as lake:
            for status in (429, 500, 503, 507):
                store.status = status
                _assert_store_is_missed(lake)
                store.status = None
                assert lake.query(ORDERS).status_code == 200
            _assert_clean_log(lake)


def _assert_store_is_missed(lake: S3Lake) -> None:
    _assert_unavailable(lake.query(ORDERS))
    _assert_unavailable(lake.get(f"schemas/{SCHEMA}/tables/{ORDERS}/metadata"))
    _assert_unavailable(lake.get(f"schemas/{SCHEMA}/tables/{ORDERS}/version"))
    assert refusal_of(lambda: lake.recipient.read(ORDERS)).status == 503
    for listing in ("all-tables", "schemas", f"schemas/{SCHEMA}/tables"):
        assert lake.get(listing).status_code == 200


def _assert_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503
    assert answer.json()["errorCode"] == "TEMPORARILY_UNAVAILABLE"
    assert int(answer.headers["Retry-After"]) > 0


def _assert_clean_log(lake: S3Lake) -> None:
    log = lake.gateway.log
    assert "Traceback" not in log
    assert not any(secret in log for secret in SECRETS)
    assert lake.secret not in log
