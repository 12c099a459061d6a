"""Reads through the store: one record covers the ranges of a file, but no refusal."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.clients.asgi import Answer
from support.gateways.audited import AuditedSite

pytestmark = pytest.mark.asyncio(loop_scope="module")

_TABLE = "/iceberg/v1/shares/sales/namespaces/eu/tables/Orders"


@dataclass(frozen=True)
class Client:
    """A client with a key for a table."""

    site: AuditedSite
    config: dict[str, str]
    file: str

    @classmethod
    async def of(cls, site: AuditedSite) -> Client:
        table = _TABLE.replace("Orders", "bare")
        loaded = await site.recipient("acme", "GET", table)
        planned = await site.recipient("acme", "POST", f"{table}/plan", {})
        [first, *_] = planned.json["file-scan-tasks"]
        site.log.records.clear()
        return cls(site, loaded.json["config"], first["data-file"]["file-path"])

    async def get(self, **headers: str) -> Answer:
        """Read the file."""
        config = self.config
        url = f"{config['s3.endpoint']}/{quote(self.file.removeprefix('s3://'), safe='/~')}"
        request = AWSRequest("GET", url, headers=headers)
        names = ("access-key-id", "secret-access-key", "session-token")
        credentials = Credentials(*(config[f"s3.{name}"] for name in names))
        S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
        sent = {"host": "share.example", **request.headers}
        found = {name.lower(): value for name, value in sent.items()}
        return await self.site.send("GET", urlsplit(url).path, headers=found)


async def test_the_first_read_of_a_file_has_a_record_and_its_ranges_do_not(site: AuditedSite) -> None:
    client = await Client.of(site)
    for start in range(10):
        assert (await client.get(Range=f"bytes={start}-{start}")).status == 206
    [record] = site.log.records
    assert (record.action, record.actor, record.method) == ("readObject", "acme", "store key")
    assert (record.resource, record.outcome, record.status) == ("sales.eu.bare", "allowed", 206)
    assert record.issued["kind"] == "file"
    assert str(record.issued["file"]).endswith(".parquet")
    assert record.issued["ledger"]


async def test_refused_reads_are_recorded_also_between_others(site: AuditedSite) -> None:
    client = await Client.of(site)
    await client.get()
    assert (await client.get(Range="bytes=99999999-")).status == 416
    await site.recipients.revoke("acme")
    assert (await client.get()).status == 403
    assert [record.status for record in site.log.records] == [200, 416, 403]
    assert site.log.records[-1].outcome == "refused"


async def test_nothing_is_read_without_a_first_record(site: AuditedSite) -> None:
    client = await Client.of(site)
    site.log.fails = True
    for _ in range(2):  # the failed one covers nothing
        answer = await client.get()
        assert (answer.status, b"PAR1" in answer.body) == (503, False)
        assert b"<Code>SlowDown</Code>" in answer.body
    site.log.fails = False
    assert (await client.get()).body[:4] == b"PAR1"
