"""Lines of access logs are parsed strictly, and nothing in them is an unexpected error."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluicegate.api import url_label
from sluicegate_spark.usage.access_log import BrokenLine, parse_line

from .log_lines import AT, SESSION, SIGNATURE, SIGNED, log_line

ENTRY = "8f14e45f-ceea-467f-a9d2-5b1f3c1a7e00"
_KEYS = st.text(
    st.characters(codec="ascii", exclude_characters=" \x7f", min_codepoint=33), min_size=1
).filter(lambda key: key != "-")  # logs have it for requests without a key


def test_a_line_of_the_documentation_is_parsed() -> None:
    found = parse_line(log_line().encode())
    assert (found.bucket, found.at, found.address) == ("lake", AT, "192.0.2.3")
    assert (found.operation, found.key) == ("REST.GET.OBJECT", "orders/part-0.parquet")
    assert (found.status, found.bytes, found.request_id) == (200, 2_662_992, "3E57427F3EXAMPLE")
    assert (found.session, found.signed_at, found.url_expires_at, found.label) == (None,) * 4


def test_a_presigned_url_says_when_it_was_signed_and_when_it_expires() -> None:
    query = f"?{SIGNED}20261126T055900Z&X-Amz-Expires=3600{SIGNATURE}"
    found = parse_line(log_line(query=query).encode())
    assert found.signed_at == datetime(2026, 11, 26, 5, 59, tzinfo=UTC)
    assert found.url_expires_at == datetime(2026, 11, 26, 6, 59, tzinfo=UTC)
    assert "0f3c9e" not in repr(found)


@pytest.mark.parametrize(
    ("label", "entry"),
    [
        (url_label(ENTRY), ENTRY),
        ("GetObject", None),
        (url_label(ENTRY)[:-1] + "%3D", None),
        ("", None),
    ],
)
def test_a_presigned_url_names_its_ledger_entry_by_a_label(label: str, entry: str | None) -> None:
    signed = f"?{SIGNED}20261126T055900Z&X-Amz-Expires=3600"
    found = parse_line(log_line(query=f"{signed}&x-offer={label}{SIGNATURE}").encode())
    assert (found.label, found.signed_at is None) == (entry, False)
    assert parse_line(log_line(query=f"?x-offer={label}").encode()).label is None


@pytest.mark.parametrize(
    "query",
    [
        f"?{SIGNED}20261126T055900Z",
        f"?{SIGNED}20261126T055900Z&X-Amz-Expires=0",
        f"?{SIGNED}20261126T055900Z&X-Amz-Expires=604801",
        f"?{SIGNED}20261126T055900Z&X-Amz-Expires={'9' * 5000}",
        f"?{SIGNED}20261399T055900Z&X-Amz-Expires=60",
        f"?{SIGNED}99991231T235959Z&X-Amz-Expires=604800",
        f"?{SIGNED}yesterday&X-Amz-Expires=60",
        "?" + "&".join(f"a{number}=1" for number in range(200)),
        "?%ff&=&&",
    ],
)
def test_a_query_that_is_no_presigned_one_is_not_taken_for_one(query: str) -> None:
    found = parse_line(log_line(query=query).encode())
    assert (found.signed_at, found.url_expires_at) == (None, None)


@pytest.mark.parametrize(
    ("requester", "session"),
    [
        (SESSION, "acme"),
        (
            "arn:aws-cn:sts::123456789012:assumed-role/reader/eu_team=0123456789abcdef",
            "eu_team=0123456789abcdef",
        ),
        ("arn:aws:sts::123456789012:federated-user/acme", "acme"),
        ("arn:aws:iam::123456789012:user/acme", None),
        ("79a59df900b949e55d96a1e698fbaced", None),
        ("-", None),
    ],
)
def test_the_session_of_a_requester(requester: str, session: str | None) -> None:
    assert parse_line(log_line(requester=requester).encode()).session == session


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "format"),
        (b"\xff\xfe binary", "UTF-8"),
        (b"PAR1\x00\x01\x15", "control"),
        (log_line().encode()[:180], "format"),
        (log_line(status="20").encode(), "format"),
        (log_line(status="OK!").encode(), "format"),
        (log_line(size="9" * 16).encode(), "format"),
        (log_line(size="-1").encode(), "format"),
        (log_line().replace("26/Nov", "31/Feb").encode(), "time"),
        (log_line().replace("26/Nov", "26/Nob").encode(), "time"),
        (log_line().replace("26/Nov", "26/anF").encode(), "format"),
        (log_line().replace("/Nov/", "/Anf/").encode(), "time"),
        (log_line().replace("06:01:02", "24:01:02").encode(), "time"),
        (log_line().replace("2026:", "0000:").encode(), "time"),
        (log_line().replace("+0000", "+9999").encode(), "time"),
        (log_line().replace("+0000", "UTC").encode(), "format"),
        (log_line().replace(" lake ", " ../../etc ").encode(), "format"),
        (log_line().replace('HTTP/1.1"', "HTTP/1.1").encode(), "format"),
    ],
)
def test_broken_lines_say_why(line: bytes, reason: str) -> None:
    with pytest.raises(BrokenLine, match=reason):
        parse_line(line)


@pytest.mark.parametrize("agent", ['"a "quoted" agent"', '"unclosed', "-", '"" "" ""'])
def test_text_of_clients_breaks_no_line(agent: str) -> None:
    assert parse_line(log_line(agent=agent).encode()).status == 200


def test_lines_of_other_systems_end_with_a_carriage_return() -> None:
    assert parse_line(f"{log_line()}\r".encode()).status == 200


@pytest.mark.parametrize(
    ("field", "path", "key"),
    [
        ("day%3D2026/a%20b.parquet", "/lake/day%3D2026/a%20b.parquet", "day=2026/a b.parquet"),
        ("day%253D2026/a%2520b.parquet", "/lake/day%3D2026/a%20b.parquet", "day=2026/a b.parquet"),
        ("day%253D2026/a.parquet", "/day%3D2026/a.parquet", "day=2026/a.parquet"),
        ("day%253D2026/a.parquet", "/lake/day=2026/a.parquet", "day=2026/a.parquet"),
        ("100%2525", "/lake/100%25", "100%"),
        ("100%25", "/lake/100%25", "100%"),
        ("a%252520b", "/lake/a%2520b", "a%20b"),
        ("a%2520b", "/lake/a%2520b", "a%20b"),
        ("a%252Bb", "/lake/a+b", "a+b"),
        ("a%2Bb", "/lake/a%20b", "a b"),
        ("a%2520b", "http://lake.s3.amazonaws.com/a%20b", "a b"),
        ("a%2520b", "-", "a b"),
        ("a%2520b", "/lake/other", "a b"),
    ],
)
def test_keys_are_decoded_as_often_as_the_path_of_the_request_shows(
    field: str, path: str, key: str
) -> None:
    """Amazon S3 encodes them twice, and other stores once."""
    line = log_line("KEY", path=path).replace(" KEY ", f" {field} ")
    if path == "-":
        line = line.replace('"GET - HTTP/1.1"', "-")
    assert parse_line(line.encode()).key == key


@given(st.binary(max_size=400))
@example(b"a" * 70_000)
def test_bytes_are_broken_or_a_request(line: bytes) -> None:
    with suppress(BrokenLine):
        assert parse_line(line).bucket


@given(
    key=_KEYS,
    at=st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)),
    hours=st.integers(-12, 14),
    status=st.sampled_from(["200", "206", "304", "403", "-"]),
    size=st.integers(0, 10**15 - 1),
)
def test_every_request_comes_back(key: str, at: datetime, hours: int, status: str, size: int) -> None:
    moment = at.replace(microsecond=0, tzinfo=timezone(timedelta(hours=hours)))
    written = f"{moment:%d/%b/%Y:%H:%M:%S %z}".replace(f"/{moment:%Y}", f"/{moment.year:04}")
    path = f"/lake/{quote(key)}"
    line = log_line("KEY", path=path, status=status, size=str(size))
    line = line.replace("26/Nov/2026:06:01:02 +0000", written)
    found = parse_line(line.replace(" KEY ", f" {quote(quote(key))} ").encode())
    assert (found.key, found.at, found.bytes) == (key, moment, size)
    assert found.status == (None if status == "-" else int(status))
