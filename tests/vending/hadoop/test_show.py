from __future__ import annotations

from dataclasses import replace

import pytest
from support.clients.hadoop_tokens import (
    EXPIRES,
    IDENTIFIER,
    KINDS,
    NOW,
    SECRET_KEY,
    SESSION_TOKEN,
    made_up_token,
)

from sluicegate.api.hadoop_tokens import SESSION_KIND
from sluicegate.vending.hadoop.identifier import Layout, encode_identifier
from sluicegate.vending.hadoop.show import describe
from sluicegate.vending.hadoop.token import HadoopToken
from sluicegate.vending.hadoop.token_file import TokenFile


def shown(*tokens: HadoopToken, now: int = NOW) -> str:
    return "\n".join(describe(TokenFile({token.service: token for token in tokens}), now))


def test_everything_but_secrets_is_shown() -> None:
    assert shown(made_up_token(SESSION_KIND, Layout.A)).splitlines() == [
        "format writable, 1 token",
        "",
        "service:    s3a://lake",
        "kind:       S3ADelegationToken/Session",
        "bucket:     s3a://lake",
        "owner:      acme",
        "renewer:    yarn",
        "issued:     2023-11-14T22:13:20.123Z",
        "expires:    2023-11-14T23:13:20.123Z",
        "uuid:       6f9619ff-8b86-8011-b42d-00cf4fc964ff",
        "origin:     sluicegate for lake.sales.orders",
        "role:       arn:aws:iam::000000000000:role/LakeReader",
        "encryption: SSE-KMS",
        "layout:     A (hadoop-aws 3.3.1 to 3.4)",
        "access key: ASIA…0001",
        f"hidden:     secret key ({len(SECRET_KEY)}), session ({len(SESSION_TOKEN)}), key (42)",
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", Layout)
def test_no_secret_is_shown(kind: str, layout: Layout) -> None:
    lines = shown(made_up_token(kind, layout))
    assert f"layout:     {layout.name}" in lines
    assert SECRET_KEY not in lines
    assert SESSION_TOKEN.strip() not in lines


def test_what_has_expired_is_reported() -> None:
    token = made_up_token(SESSION_KIND, Layout.B)
    assert "23:13:20.123Z (expired)" in shown(token, now=EXPIRES)
    assert "(expired)" not in shown(token, now=EXPIRES - 1)


def test_tokens_of_other_services_are_only_named() -> None:
    token = HadoopToken(b"whatever", "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020", b"password")
    assert shown(token).splitlines()[2:] == [
        "service:    127.0.0.1:8020",
        "kind:       HDFS_DELEGATION_TOKEN",
    ]


def test_an_identifier_that_cannot_be_read_is_a_problem_of_its_token_alone() -> None:
    broken = HadoopToken(b"\0\1", SESSION_KIND, "s3a://broken")
    lines = shown(broken, made_up_token(SESSION_KIND, Layout.A))
    assert "problem:    the token's identifier fits neither layout" in lines
    assert "service:    s3a://lake" in lines


def test_foreign_text_moves_no_cursor() -> None:
    identifier = replace(IDENTIFIER, origin="\x1b[2Jcleared\nsecret key: none", issue_date=2**62)
    token = HadoopToken(encode_identifier(identifier, Layout.A), SESSION_KIND, "s3a://lake")
    lines = shown(token)
    assert "origin:     \\x1b[2Jcleared\\x0asecret key: none" in lines
    assert f"issued:     {2**62} ms after 1970" in lines
    assert "\x1b" not in lines
