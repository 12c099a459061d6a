"""Patterns with which Spark redacts. Java's syntax equals Python's, except for inner flags."""

from __future__ import annotations

import re

import pytest

from sluicegate_spark.jvm.redaction import OF_STARTS, with_our_patterns

SETTING = OF_STARTS["spark.redaction.regex"]
TEXT = OF_STARTS["spark.redaction.string.regex"]


@pytest.mark.parametrize(
    "name_or_value",
    [
        "spark.sql.catalog.task_credentials.warehouse",
        "spark.sql.catalog.lake.s3.access-key-id",
        "fs.s3a.bucket.lake.access.key",
        "fs.s3a.bucket.lake.session.token",
        "fs.azure.account.key.lake.dfs.core.windows.net",
        "fs.azure.sas.fixed.token.lake.dfs.core.windows.net",
        "spark.ssl.keyStorePassword",
        "jdbc:https://me:hidden@lake.example/x",
    ],
)
def test_settings_with_secrets_are_redacted(name_or_value: str) -> None:
    assert re.search(SETTING, name_or_value)


@pytest.mark.parametrize(
    "name_or_value",
    ["spark.sql.shuffle.partitions", "fs.s3a.endpoint", "https://lake.example:8181/a@b"],
)
def test_others_are_shown(name_or_value: str) -> None:
    assert not re.search(SETTING, name_or_value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("options {fs.s3a.secret.key=hidden, path=s3a://lake}", "options {fs.s3a.#, path=s3a://lake}"),
        ('"session.token": "hidden" and more', '"session.#" and more'),
        ("read https://me:hidden@lake.example/x", "read https#lake.example/x"),
        ("Project [id#1, city#2]", "Project [id#1, city#2]"),
    ],
)
def test_texts_lose_what_looks_like_a_secret(text: str, shown: str) -> None:
    assert re.sub(TEXT, "#", text) == shown


def test_an_operators_pattern_comes_in_addition() -> None:
    given = with_our_patterns({"spark.redaction.regex": "sesame", "spark.app.name": "mine"})
    assert given == {"spark.redaction.regex": f"(?:{SETTING})|(?:sesame)", "spark.app.name": "mine"}
