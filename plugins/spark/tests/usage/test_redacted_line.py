"""What is shown of a broken line contains no secret, and nothing that a terminal interprets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate_spark.usage.log_reader import redacted

from .log_lines import log_line


@pytest.mark.parametrize(
    "secret",
    [
        "?X-Amz-Signature=s3cret",
        "%3FX-Amz-Signature=s3cret",
        " X-Amz-Security-Token=s3cret",
        " x%2Damz%2Dsignature=s3cret",
        "&Signature=s3cret",
        "&sig=s3cret",
        " Authorization: s3cret",
        " AWSAccessKeyId=s3cret",
        " credential=s3cret",
    ],
)
def test_secrets_are_left_out(secret: str) -> None:
    shown = redacted(f"owner lake {secret} rest".encode())
    assert shown.rstrip(" &") == "owner lake"
    assert "s3cret" not in redacted(log_line(query=secret.strip()).encode())


@given(st.binary(max_size=2_000))
def test_it_is_short_and_printable(line: bytes) -> None:
    shown = redacted(line)
    assert len(shown) <= 300
    assert shown.isascii()
    assert shown.isprintable()
