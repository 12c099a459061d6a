"""Keys of a payload's `config` that have an effect, and hosts that it can name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed, TemporaryCredentials
from sluicegate_iceberg.names import TableName
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.tables import Table, TableAccess
from sluicegate_testing.executors import RecordedRun

KEYS = {"s3.access-key-id": "id", "s3.secret-access-key": "key"}
SIGNED = {"adls.sas-token": "sig=1"}
METADATA = "http://169.254.169.254"
GRANT = RealmGrant(None, None, ("s3://lake/", "abfs://"))


async def opened(
    config: dict[str, str], *endpoints: str, location: str = "s3://lake/t"
) -> TemporaryCredentials:
    """Return the credentials of a task whose payload has a `config`."""
    identity = TableIdentity("7", "unknown", ("eu",), "t")
    told = {"format": "delta", "location": location}
    task = DelegatedTask(
        "t", "TABLE_COMPACTION", "prod", identity, properties=told, config=config, grant=GRANT
    )
    executor = SparkExecutor(SparkConfig.model_validate({"endpoints": endpoints}))
    try:
        access = await executor.acquire(task)
        found = None if access is None else await access.credentials_of_task()
    finally:
        await executor.aclose()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("url", "endpoints"),
    [
        ("https://s3.eu-west-1.amazonaws.com", ()),
        ("https://s3.cn-north-1.amazonaws.com.cn/", ()),
        ("https://Minio.invalid:9000", ("https://minio.invalid:9000",)),
        ("http://minio.invalid:1234", ("minio.invalid",)),
        ("http://127.0.0.1:9000", ("http://127.0.0.1:9000",)),
        ("http://127.0.0.1:9001", ("127.0.0.1",)),
        ("http://[::1]:9001", ("http://[::1]:9001",)),
        ("http://localhost:9000", ("localhost",)),
    ],
)
async def test_a_listed_endpoint_is_used(url: str, endpoints: tuple[str, ...]) -> None:
    assert (await opened({**KEYS, "s3.endpoint": url}, *endpoints)).connection["endpoint"] == url


@pytest.mark.parametrize(
    ("url", "endpoints"),
    [
        (METADATA, ()),
        (METADATA, ("https://minio.invalid",)),
        ("http://[::ffff:169.254.169.254]", ()),
        ("http://127.0.0.1:9000", ()),
        ("http://127.0.0.1:9001", ("http://127.0.0.1:9000",)),
        ("http://minio.invalid:9000", ("https://minio.invalid:9000",)),
        ("https://s3.eu-west-1.amazonaws.com.evil.invalid", ()),
        ("http://s3.eu-west-1.amazonaws.com", ()),
        ("https://evil.s3.amazonaws.com", ()),
        ("https://s3.eu-west-1.amazonaws.com@evil.invalid", ()),
        ("https://evil.invalid/?https://s3.amazonaws.com", ()),
        ("file:///etc", ()),
    ],
)
async def test_another_endpoint_is_refused(url: str, endpoints: tuple[str, ...]) -> None:
    with pytest.raises(TaskFailed, match=r"'s3\.endpoint'|an endpoint") as failed:
        await opened({**KEYS, "s3.endpoint": url}, *endpoints)
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2852039166", "0"])
async def test_a_listed_name_that_leads_inside_is_refused(host: str) -> None:
    with pytest.raises(TaskFailed, match="addresses of this machine"):
        await opened({**KEYS, "s3.endpoint": f"http://{host}:9000"}, host)


@pytest.mark.parametrize(
    "wrong",
    [
        {"client.region": "evil.invalid/#"},
        {"s3.region": "eu@evil"},
        {"s3.path-style-access": "yes"},
    ],
)
async def test_parts_of_a_host_are_only_names(wrong: dict[str, str]) -> None:
    with pytest.raises(TaskFailed, match="has an invalid value"):
        await opened({**KEYS, **wrong})


@pytest.mark.parametrize(
    "host", ["evil.invalid", "127.0.0.1", "acct.dfs.core.windows.net.evil.invalid", "a:80", ""]
)
async def test_a_location_names_no_host_but_azures(host: str) -> None:
    with pytest.raises(TaskFailed, match=r"the table's location names|an endpoint"):
        await opened(SIGNED, location=f"abfss://box@{host}/t")


async def test_other_keys_have_no_effect() -> None:
    others = {
        "fs.s3a.aws.credentials.provider": "evil.Provider",
        "spark.hadoop.fs.s3a.endpoint": METADATA,
        "client.factory": "evil.Factory",
        "client.credentials-provider": "evil.Provider",
        "io-impl": "evil.FileIO",
        "py-io-impl": "evil.FileIO",
        "uri": METADATA,
        "oauth2-server-uri": METADATA,
        "client.refresh-credentials-endpoint": METADATA,
        "gcs.service.host": METADATA,
        "adls.connection-string.acct": "evil",
        "s3.signer.uri": METADATA,
    }
    assert await opened({**KEYS, **others}) == await opened(KEYS)


@pytest.mark.parametrize("entry", ["ftp://minio", "https://minio/bucket", "https://a:b@minio", "a b/c"])
def test_a_wrong_entry_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(ValidationError, match="endpoints"):
        SparkConfig.model_validate({"endpoints": [entry]})


def test_an_unknown_key_of_a_catalogs_credentials_is_refused_at_the_start() -> None:
    section = {"uri": "https://catalog.invalid", "file_io": {"client.factory": "x"}}
    with pytest.raises(ValidationError, match=r"'client\.factory' has no effect"):
        SparkConfig.model_validate({"catalogs": {"lake": section}})


async def test_newer_credentials_of_a_repeated_request_name_no_other_host_either() -> None:
    identity = TableIdentity("7", "unknown", ("eu",), "t")
    table = Table(TableName(("eu",), "t"), None, "s3://lake/t", None, {}, "delta")
    task = DelegatedTask("t", "TABLE_COMPACTION", "prod", identity, config=KEYS, grant=GRANT)
    access = TableAccess(table, task)
    assert await access.credentials_of_task() is not None
    access.during(RecordedRun(renewed={**KEYS, "s3.endpoint": METADATA}))
    with pytest.raises(TaskFailed, match=r"'s3\.endpoint' names the host '169\.254\.169\.254'"):
        await access.objects()
