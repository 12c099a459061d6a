"""Tokens of a gateway over a store that gives real sessions."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import httpx
import pytest
from support.clients.hadoop_tokens import made_up_token
from support.gateways.hadoop_lake import HadoopLake

from sluicegate._util.clock import epoch_ms
from sluicegate.api.hadoop_tokens import (
    FULL_KIND,
    ROLE_KIND,
    SESSION_KIND,
    S3ATokenIdentifier,
)
from sluicegate.vending.hadoop.identifier import Layout, decode_identifier
from sluicegate.vending.hadoop.token import NO_PASSWORD, HadoopToken, from_url, to_url
from sluicegate.vending.hadoop.token_file import TokenFile

HOUR = 3_600_000


def issued(answer: httpx.Response) -> tuple[dict[str, Any], HadoopToken, S3ATokenIdentifier, Layout]:
    """The one token of an answer."""
    assert answer.status_code == 200, answer.text
    (told,) = answer.json()["tokens"]
    token = from_url(told["token"])
    return told, token, *decode_identifier(token.identifier)


def refused(answer: httpx.Response, status: int, code: str) -> str:
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code), answer.text
    return str(answer.json()["message"])


def test_a_token_says_what_the_document_wants(lake: HadoopLake) -> None:
    before = epoch_ms()
    told, token, identifier, layout = issued(lake.ask("orders", renewer="yarn"))
    assert (token.kind, token.service, layout) == (SESSION_KIND, "s3a://lake", Layout.A)
    assert (identifier.uri, identifier.owner, identifier.renewer) == ("s3a://lake", "acme", "yarn")
    assert identifier.origin == "sluicegate for lake.sales.orders"
    assert before <= identifier.issue_date <= epoch_ms()
    assert identifier.created == -identifier.issue_date
    secret = identifier.credentials
    assert identifier.max_date == secret.expiration == told["expirationTime"]
    assert identifier.issue_date < identifier.max_date <= epoch_ms() + HOUR
    assert secret.role_arn.endswith(":role/LakeReader")
    assert secret.session_token
    assert told["uuid"] == identifier.uuid
    assert told["tables"] == [{"name": "lake.sales.orders", "location": "s3a://lake/orders"}]


def test_the_file_is_that_of_the_more_complete_response(lake: HadoopLake) -> None:
    answer = lake.ask("orders")
    told, token, *_ = issued(answer)
    assert TokenFile.decode(base64.b64decode(answer.json()["file"])).tokens == {"s3a://lake": token}
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert not told["bonded"]


@pytest.mark.parametrize("file_format", ["writable", "protobuf"])
def test_who_accepts_bytes_gets_the_file(lake: HadoopLake, file_format: str) -> None:
    answer = lake.ask("orders", accept="application/octet-stream", format=file_format)
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Cache-Control"] == "private, no-store"
    file = TokenFile.decode(answer.content)
    assert (file.format, list(file.tokens)) == (file_format, ["s3a://lake"])


def test_hadoops_version_decides_the_layout(lake: HadoopLake) -> None:
    *_, identifier, layout = issued(lake.ask("orders", hadoopVersion="3.5.0"))
    assert layout is Layout.B
    assert identifier.created & 0xFF == 0xFF


def test_origin_is_taken_over(lake: HadoopLake) -> None:
    *_, identifier, _ = issued(lake.ask("orders", origin="nightly import"))
    assert identifier.origin == "nightly import"


def test_tables_of_one_bucket_share_one_token_and_each_is_in_the_ledger(lake: HadoopLake) -> None:
    told, _, identifier, _ = issued(lake.ask("orders", tables=["lake.sales.visits"]))
    assert [table["name"] for table in told["tables"]] == ["lake.sales.orders", "lake.sales.visits"]
    assert identifier.origin == "sluicegate for lake.sales.orders, lake.sales.visits"
    entries = ledger(lake, identifier.uuid, expected=2)
    assert {entry["table"] for entry in entries} == {"orders", "visits"}
    assert all(
        json.loads(entry["locations"]) == ["s3://lake/orders", "s3://lake/visits"] for entry in entries
    )


def ledger(lake: HadoopLake, uuid: str, expected: int) -> list[dict[str, Any]]:
    """The entries of the request that issued a token; what is only noted is written a moment later."""
    found: list[dict[str, Any]] = []
    until = time.monotonic() + 30
    while len(found) < expected and time.monotonic() < until:
        with closing(sqlite3.connect(lake.gateway.folder / "sluicegate.db")) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute(
                "SELECT b.* FROM ledger a JOIN ledger b ON b.request_id = a.request_id WHERE a.id = ?",
                [uuid],
            )
            found = [dict(row) for row in rows]
        time.sleep(0.1)
    return found


def _with_another_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(("binding", "kind"), [("role", ROLE_KIND), (FULL_KIND, FULL_KIND)])
def test_other_kinds_are_for_recipients_that_may_have_them(
    lake: HadoopLake, binding: str, kind: str
) -> None:
    message = refused(lake.ask("orders", binding=binding), 403, "PERMISSION_DENIED")
    assert kind in message
    _, token, identifier, _ = issued(lake.ask("orders", recipient="trusted", binding=binding))
    assert token.kind == kind
    is_key = kind == FULL_KIND
    secret = identifier.credentials
    assert bool(secret.session_token) != is_key
    assert (identifier.max_date == 0) == (secret.expiration == 0) == is_key


class TestBonded:
    """A token that is shown."""

    def test_it_is_given_back_while_it_is_good(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders"))
        told, again, *_ = issued(lake.ask("orders", tokens=[to_url(token)]))
        assert (again, told["bonded"]) == (token, True)

    def test_it_is_not_given_to_somebody_else(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders"))
        told, other, *_ = issued(lake.ask("orders", recipient="rival", tokens=[to_url(token)]))
        assert (other.identifier != token.identifier, told["bonded"]) == (True, False)

    def test_it_does_not_open_another_table(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders"))
        for body in ({"tables": ["lake.sales.visits"]}, {"hadoopVersion": "3.5.0"}):
            told, *_ = issued(lake.ask("orders", tokens=[to_url(token)], **body))
            assert not told["bonded"]
        told, *_ = issued(lake.ask("visits", tokens=[to_url(token)]))
        assert not told["bonded"]

    def test_one_that_was_changed_is_not_the_gateways(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders"))
        forgeries = (
            replace(token, identifier=_with_another_last_bit(token.identifier)),
            replace(token, password=_with_another_last_bit(token.password)),
            replace(token, password=NO_PASSWORD),
        )
        for forged in forgeries:
            told, *_ = issued(lake.ask("orders", tokens=[to_url(forged)]))
            assert not told["bonded"]

    def test_one_of_another_issuer_is_passed_over(self, lake: HadoopLake) -> None:
        elsewhere = [made_up_token(SESSION_KIND, Layout.A, bucket) for bucket in ("lake", "other")]
        told, *_ = issued(lake.ask("orders", tokens=list(map(to_url, elsewhere))))
        assert not told["bonded"]

    def test_one_from_before_a_revocation_is_not_given_back(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders", recipient="rival"))
        lake.gateway.command("recipient", "revoke", "rival")
        lake.gateway.profile("rival")
        told, *_ = issued(lake.ask("orders", recipient="rival", tokens=[to_url(token)]))
        assert not told["bonded"]

    def test_one_of_another_kind_is_refused_naming_both(self, lake: HadoopLake) -> None:
        _, token, *_ = issued(lake.ask("orders", recipient="trusted", binding="role"))
        answer = lake.ask("orders", recipient="trusted", tokens=[to_url(token)])
        assert refused(answer, 400, "INVALID_PARAMETER_VALUE") == (
            f"token mismatch: expected a token for s3a://lake of kind {SESSION_KIND}, but the one in "
            f"the request is of kind {ROLE_KIND}"
        )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"binding": "kerberos"}, "binding must be one of session, role, full"),
        ({"format": "json"}, "format must be one of writable, protobuf"),
        ({"hadoopVersion": "2.10"}, "does not read these tokens"),
        ({"hadoopVersion": "latest"}, "such as 3.4"),
        ({"renewer": 1}, "renewer must be a string"),
        ({"renewer": "y" * 1025}, "renewer must have at most 1024 characters"),
        ({"origin": ["a"]}, "origin must be a string"),
        ({"tables": "lake.sales.visits"}, "tables must be an array of strings"),
        ({"tables": ["visits"]}, "tables must be named like share.schema.table"),
        ({"tables": ["lake.sales.visits"] * 101}, "tables must have at most 100 members"),
        ({"tokens": ["?"]}, "the token is not base64url text"),
        ({"tokens": ["AAAA"]}, "the token is malformed at byte"),
    ],
)
def test_a_bad_request_gets_the_reason(lake: HadoopLake, body: dict[str, Any], problem: str) -> None:
    assert problem in refused(lake.ask("orders", **body), 400, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize(("table", "others"), [("urls_only", []), ("orders", ["lake.sales.urls_only"])])
def test_tables_without_directory_access_have_no_tokens(
    lake: HadoopLake, table: str, others: list[str]
) -> None:
    message = refused(lake.ask(table, tables=others), 400, "UNSUPPORTED_OPERATION")
    assert "lake.sales.urls_only does not offer directory access" in message


def test_what_was_not_granted_does_not_exist(lake: HadoopLake) -> None:
    refused(lake.ask("absent"), 404, "RESOURCE_DOES_NOT_EXIST")
    refused(lake.ask("orders", tables=["other.sales.orders"]), 404, "RESOURCE_DOES_NOT_EXIST")


def test_no_secret_is_in_the_log_or_the_database(lake: HadoopLake) -> None:
    _, token, identifier, _ = issued(lake.ask("orders"))
    lake.ask("orders", tokens=[to_url(token)])
    secret = identifier.credentials
    folder = lake.gateway.folder
    kept = b"".join(path.read_bytes() for path in folder.glob("sluicegate.db*"))
    kept += lake.gateway.log.encode()
    for text in (secret.secret_key, secret.session_token, to_url(token)):
        assert text.encode() not in kept
