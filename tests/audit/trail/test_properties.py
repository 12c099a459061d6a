"""Random requests: each response has exactly one record, which agrees with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random
from urllib.parse import quote

from support.clients.memory_log import MemoryLog
from support.gateways.in_process import Answer, InProcessGateway, Request
from support.gateways.random_world import RandomWorld, random_world

from sluicegate.audit.records import AuditRecord

SEED = 20261125
REQUESTS = 200
# What decides is known for each refusal; only errors of the gateway have no rule.
RULES = (
    *("authentication", "network", "grant", "name", "request", "role", "table", "limit", "permission"),
    *("partition filter", "access mode", "history", "start version", "change feed", "policy"),
)


def test_each_response_of_random_requests_has_one_record(tmp_path: Path) -> None:
    with random_world(tmp_path, SEED, 5) as world:
        log = MemoryLog()
        gateway = dataclasses.replace(world.served.gateway, audit=log)
        served = InProcessGateway(gateway, world.served.loop)
        random = Random(SEED)
        outcomes = set()
        for number in range(REQUESTS):
            request = _request(world, random)
            case = f"{number}: {request.method} {request.target}"
            answer = served.send(request)
            [record] = log.records
            log.records.clear()
            _check(record, answer, case)
            outcomes.add(record.outcome)
    assert outcomes == {"allowed", "refused", "failed"}


def _check(record: AuditRecord, answer: Answer, case: str) -> None:
    assert record.status == answer.status, case
    assert record.request_id == answer.headers["x-request-id"], case
    allowed = answer.status < 400
    assert (record.outcome == "allowed") == allowed, (case, record)
    assert (record.outcome == "failed") == (answer.status >= 500), (case, record)
    if record.outcome == "refused":
        assert record.rule is not None, (case, record)
        assert record.rule.startswith(RULES), (case, record)
    has_urls = b"X-Amz-Signature" in answer.body or b'"url":' in answer.body
    has_credentials = b"session" in answer.body and answer.status == 200
    if allowed and (has_urls or has_credentials):
        assert record.issued, (case, record)
    if not allowed:
        assert record.issued == {}, (case, record)
    assert "slg_" not in repr(record), case


def _request(world: RandomWorld, random: Random) -> Request:
    recipient = random.choice(list(world.tokens))
    token = world.tokens[recipient]
    headers = [] if token is None else [("authorization", f"Bearer {token}")]
    share, schema, table = (quote(each, safe="") for each in random.choice(world.paths))
    kind, *names = random.choice(world.assets)
    sharing = f"/delta-sharing/shares/{share}"
    one = f"{sharing}/schemas/{schema}/tables/{table}"
    namespace = f"/iceberg/v1/shares/{share}/namespaces/{schema}"
    asset = f"/delta-sharing/shares/{names[0]}/schemas/{quote(names[1])}/{kind}s/{names[2]}"
    method, target = random.choice(
        [
            ("GET", "/delta-sharing/shares"),
            ("GET", f"{sharing}/all-tables"),
            ("GET", f"{sharing}/schemas/{schema}/tables"),
            ("HEAD", one),
            ("GET", f"{one}/metadata"),
            *[("POST", f"{one}/query")] * 4,
            ("POST", f"{one}/temporary-table-credentials"),
            ("POST", f"{one}/hadoop-delegation-token"),
            ("GET", f"{one}/changes?startingVersion=0"),
            ("GET", f"/iceberg/v1/config?warehouse={share}"),
            ("GET", f"{namespace}/tables"),
            ("GET", f"{namespace}/tables/{table}"),
            ("GET", f"{namespace}/tables/{table}/credentials"),
            ("POST", f"{namespace}/tables/{table}/plan"),
            ("GET", asset),
            ("POST", f"{asset}/temporary-{kind}-credentials"),
            ("GET", "/nothing"),
        ]
    )
    return Request(method, target, headers, b"{}" if method == "POST" else b"")
