"""The store gives a recipient the files of its part of a table, and no byte of anything else."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from botocore import auth as botocore_auth
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.gateways.gateway import RunningGateway
from support.process.random_cases import cases

TABLES = "/shares/sales/namespaces/EU/tables"


@dataclass(frozen=True)
class Key:
    """A key of a recipient for a table, and the files that its plan names."""

    endpoint: str
    credentials: Credentials
    files: tuple[str, ...]
    metadata: str


def key_of(client: httpx.Client, table: str, token: str) -> Key:
    """A new key, as a recipient gets it that cannot sign."""
    sent = {"Authorization": f"Bearer {token}"}
    keys = {**sent, "X-Iceberg-Access-Delegation": "vended-credentials"}
    loaded = client.get(f"{TABLES}/{table}", headers=keys).raise_for_status().json()
    plan = client.post(f"{TABLES}/{table}/plan", headers=sent, json={}).raise_for_status().json()
    config = loaded["config"]
    names = ("access-key-id", "secret-access-key", "session-token")
    return Key(
        config["s3.endpoint"],
        Credentials(*(config[f"s3.{name}"] for name in names)),
        tuple(task["data-file"]["file-path"] for task in plan["file-scan-tasks"]),
        loaded["metadata-location"],
    )


def request_of(
    key: Key, path: str, method: str = "GET", *, in_query: bool = False, **headers: str
) -> AWSRequest:
    """A request, signed as botocore does."""
    url = f"{key.endpoint}/{quote(path.removeprefix('s3://'), safe='/~')}"
    request = AWSRequest(method, url, headers=headers)
    kind: Any = S3SigV4QueryAuth if in_query else S3SigV4Auth
    kind(key.credentials, "s3", "us-east-1").add_auth(request)
    return request


def send(request: AWSRequest) -> httpx.Response:
    return httpx.request(request.method, request.url, headers=dict(request.headers), timeout=30)


@pytest.fixture(scope="module")
def keys(gateway: RunningGateway, tokens: dict[str, str]) -> dict[str, Key]:
    """Keys of a recipient by table, and one of another recipient."""
    with httpx.Client(base_url=f"{gateway.address}/iceberg/v1", timeout=30) as client:
        tables = {name: key_of(client, name, tokens["acme"]) for name in ("plain", "part", "mine")}
        return {**tables, "rival": key_of(client, "plain", tokens["rival"])}


@pytest.mark.parametrize("table", ["plain", "part", "mine"])
@pytest.mark.parametrize("in_query", [False, True])
def test_files_of_the_view_are_read(keys: dict[str, Key], table: str, in_query: bool) -> None:
    key = keys[table]
    for path in key.files:
        assert send(request_of(key, path, in_query=in_query)).content[:4] == b"PAR1"
    assert send(request_of(key, key.metadata)).json()["format-version"]


def _elsewhere(keys: dict[str, Key], generator: random.Random) -> AWSRequest:
    """A rightly signed request for another view's file."""
    own, other = generator.sample(sorted(keys), 2)
    files = [*keys[other].files, keys[other].metadata]
    return request_of(keys[own], generator.choice(files), in_query=generator.random() < 0.3)


def _hidden(keys: dict[str, Key], generator: random.Random) -> AWSRequest:
    """A rightly signed request for a file of a hidden partition, or outside of the table."""
    path = generator.choice(keys["part"].files)
    start, mark, rest = path.partition("country=DE")
    changed = [
        f"{start}country=FR{rest}",
        f"{start}../country=FR{rest}",
        f"{start}{mark}/../country=FR/{rest}",
        f"{start}_delta_log/00000000000000000000.json",
        f"{start}",
        f"{path}/",
        path[: generator.randrange(6, len(path))],
        path.replace("s3://SG/", "s3://SG//"),
        path.upper(),
    ]
    return request_of(keys["part"], generator.choice([each for each in changed if each != path]))


def _changed(keys: dict[str, Key], generator: random.Random) -> AWSRequest:
    """A request that was changed after it was signed: replayed for another file, or truncated."""
    key = generator.choice([keys["plain"], keys["part"]])
    first, other = generator.sample(key.files, 2)
    request = request_of(key, first, Range="bytes=0-3")
    kind = generator.randrange(5)
    if kind == 0:
        request.url = request_of(key, other).url
    elif kind == 1:
        request.headers.replace_header("Range", f"bytes=0-{generator.randrange(4, 99)}")
    elif kind == 2:
        name = generator.choice(["Authorization", "X-Amz-Security-Token"])
        value = request.headers[name]
        request.headers.replace_header(name, value[: generator.randrange(1, len(value))])
    elif kind == 3:
        name = generator.choice(["Authorization", "X-Amz-Security-Token", "X-Amz-Date"])
        value = request.headers[name]
        at = generator.randrange(len(value))
        new = generator.choice([each for each in "0aZ9" if each != value[at]])
        request.headers.replace_header(name, value[:at] + new + value[at + 1 :])
    else:
        del request.headers[generator.choice(["Authorization", "X-Amz-Security-Token", "X-Amz-Date"])]
    return request


def _foreign(keys: dict[str, Key], generator: random.Random) -> AWSRequest:
    """A request that is signed with other secrets, or parts of several keys."""
    own, other = keys["plain"].credentials, keys["rival"].credentials
    made = generator.choice(
        [
            Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI", None),
            Credentials(own.access_key, generator.randbytes(32).hex(), own.token),
            Credentials(own.access_key, own.secret_key, other.token),
            Credentials(other.access_key, own.secret_key, own.token),
            Credentials(own.access_key, own.secret_key, None),
            Credentials(own.access_key, other.secret_key, own.token),
        ]
    )
    return request_of(replace(keys["plain"], credentials=made), keys["plain"].files[0])


FORGERIES = (_elsewhere, _hidden, _changed, _foreign)


def test_no_forged_request_gets_a_byte(keys: dict[str, Key]) -> None:
    generator = random.Random(105)
    for number in range(cases(500)):
        request = FORGERIES[number % len(FORGERIES)](keys, generator)
        answer = send(request)
        assert answer.status_code in (400, 403), (request.url, dict(request.headers), answer.text)
        assert b"PAR1" not in answer.content
        assert answer.headers["content-type"] == "application/xml"


@pytest.mark.parametrize("minutes", [-16, 16])
def test_old_requests_are_not_replayed(
    keys: dict[str, Key], minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=minutes)
    monkeypatch.setattr(botocore_auth, "get_current_datetime", lambda **_: then)
    answer = send(request_of(keys["plain"], keys["plain"].files[0]))
    assert answer.status_code == 403
    assert "<Code>RequestTimeTooSkewed</Code>" in answer.text
