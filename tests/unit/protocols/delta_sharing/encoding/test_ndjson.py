"""The last line of a response, and how a failure after the first line is reported."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa
import pytest
from support.tables.memory_tables import change, change_rows, file, file_rows

from sluicegate.api.errors import RateLimited, SluicegateError, StorageError
from sluicegate.protocols.delta_sharing.encoding.file_ids import file_ids
from sluicegate.protocols.delta_sharing.encoding.ndjson import end_stream, ended


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"refresh_token": "r"}, {"refreshToken": "r"}),
        ({"next_page_token": "n"}, {"nextPageToken": "n"}),
        ({"expires_at": 5}, {"minUrlExpirationTimestamp": 5}),
        (
            {"refresh_token": "r", "next_page_token": "n", "expires_at": 0},
            {"refreshToken": "r", "nextPageToken": "n", "minUrlExpirationTimestamp": 0},
        ),
    ],
)
def test_the_last_line_has_only_members_with_a_value(
    options: dict[str, Any], expected: dict[str, Any]
) -> None:
    written = end_stream(**options)
    assert written.endswith(b"\n")
    assert json.loads(written) == {"endStreamAction": expected}


async def parts(*lines: bytes, failure: Exception | None = None) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
    if failure is not None:
        raise failure


async def into(sent: list[bytes], lines: AsyncIterator[bytes]) -> None:
    """Send lines, one after the other."""
    async for part in lines:
        sent.append(part)  # noqa: PERF401  (what is sent before a failure counts)


async def test_the_last_line_is_built_after_the_others_were_sent() -> None:
    sent: list[bytes] = []
    await into(sent, ended(parts(b"a\n", b"b\n"), lambda: b"after %d\n" % len(sent)))
    assert sent == [b"a\n", b"b\n", b"after 2\n"]


async def test_a_response_without_lines_still_has_the_last_one() -> None:
    assert [part async for part in ended(parts(), lambda: b"end\n")] == [b"end\n"]


async def test_no_last_line_is_sent_if_none_was_requested() -> None:
    assert [part async for part in ended(parts(b"a\n"), None)] == [b"a\n"]


@pytest.mark.parametrize(
    "failure", [StorageError("the store is down", detail="10.0.0.7"), RateLimited("slow down")]
)
async def test_a_failure_midway_is_the_last_line(
    failure: SluicegateError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sent = [part async for part in ended(parts(b"a\n", failure=failure), lambda: b"end\n")]
    assert sent[0] == b"a\n"
    assert [json.loads(line) for line in sent[1:]] == [
        {
            "endStreamAction": {
                "errorMessage": failure.message,
                "httpStatusErrorCode": failure.status,
            }
        }
    ]
    assert failure.for_operators in caplog.text


@pytest.mark.parametrize("failure", [StorageError("the store is down"), ValueError("a bug")])
async def test_a_failure_ends_a_response_whose_client_requested_no_last_line(
    failure: Exception,
) -> None:
    sent: list[bytes] = []
    with pytest.raises(type(failure)):
        await into(sent, ended(parts(b"a\n", failure=failure), None))
    assert sent == [b"a\n"]


async def test_an_unexpected_error_is_not_shown_to_the_recipient() -> None:
    with pytest.raises(ValueError, match="a bug"):
        await into([], ended(parts(failure=ValueError("a bug")), lambda: b"end\n"))


@pytest.mark.parametrize("name", ["md5", "sha256"])
def test_an_id_is_the_hash_of_the_path_as_utf_8(name: str) -> None:
    paths = ["a.parquet", "day=1/ü b.parquet", "s3://lake/other/a.parquet"]
    rows = file_rows(*(file(path) for path in paths))
    assert file_ids(rows, name) == [hashlib.new(name, path.encode()).hexdigest() for path in paths]


def test_an_id_is_made_of_the_path_as_the_log_writes_it() -> None:
    rows = file_rows(file("a b.parquet", spelled_path="a%20b.parquet"), file("c.parquet"))
    written = [b"a%20b.parquet", b"c.parquet"]
    assert file_ids(rows, "sha256") == [hashlib.sha256(path).hexdigest() for path in written]


def test_changes_of_one_file_have_the_id_of_the_file() -> None:
    rows = pa.Table.from_batches([change_rows(change("remove", "a"), change("add", "a"))])
    assert file_ids(rows, "md5") == file_ids(file_rows(file("a"), file("a")), "md5")
