"""Durations and sizes as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from sluicegate._util.units import ByteSize, Duration, format_duration, parse_duration, parse_size


class _Settings(BaseModel):
    after: Duration = 0
    size: ByteSize = 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90d", 7_776_000),
        ("24h", 86_400),
        ("15m", 900),
        ("30s", 30),
        ("2w", 1_209_600),
        ("1h30m", 5400),
        (" 30s ", 30),
        ("45", 45),
        (45, 45),
        (0, 0),
        ("0s", 0),
    ],
)
def test_durations(text: str | int, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "d", "9\N{DEVANAGARI DIGIT ZERO}", "-1s", "1.5h", "1y", "1 h", "h1", -1, True, None, 1.5],
)
def test_durations_that_are_refused(text: Any) -> None:
    with pytest.raises(ValidationError, match="expected a duration like"):
        _Settings(after=text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (90, "90s"), (5400, "90m"), (129_600, "36h"), (172_800, "2d")]
)
def test_durations_are_shown_in_one_unit(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256MB", 256_000_000),
        ("1GiB", 2**30),
        ("1.5 kib", 1536),
        ("0.1MB", 100_000),
        ("7", 7),
        (7, 7),
        ("10 B", 10),
        ("2TB", 2 * 10**12),
        ("1gb", 10**9),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "1XB", "-1MB", "1,5MB", "1e3", "1.MB", True, None, 1.5, -1])
def test_sizes_that_are_refused(text: Any) -> None:
    with pytest.raises(ValidationError, match="expected a size like"):
        _Settings(size=text)


def test_their_schema_takes_texts_and_numbers() -> None:
    properties = _Settings.model_json_schema()["properties"]
    assert properties["after"]["type"] == properties["size"]["type"] == ["string", "integer"]
