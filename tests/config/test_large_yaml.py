"""Large files are read as small ones are, with the same positions and messages, but faster."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support.process.random_cases import cases

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import yaml
from sluicegate.config.large_yaml import read_marked
from sluicegate.config.yaml import parse_document

SHARES = """\
# Comment
shares:
  sales:
    comment: "Orders: 'all' of them"
    properties: {tier: 'hot', owner: Zoë}
    schemas:
      eu:
        tables:
          orders: {catalog: raw, table: s3://lake/orders, history: true, start_version: 12}
          returns:
            catalog: raw
            table: file:///srv/returns
recipients:
  acme:
    shares: [sales]
    token_lifetime: 30d
    allow_from:
      - 203.0.113.0/24
      - 2001:db8::/32
"""
_WORDS = (
    *("a", "key", "s3://x/y", "a.b", "a:b", "a?b", "x#y", "x #y", "é", "日", "'it''s'", '"q\\""'),
    *("~", "null", "Null", "nULL", "true", "False", "no", "On", "y", "=", "<<", "30d", "10.0.0.0/8"),
    *("12", "-3", "-0", "00", "0x1", "0o7", "1e3", "1.5", "1_0", "10:20", "2020-01-01", "-a/b", "+1/2"),
    *(": ", ":", "- ", "-", "--", ", ", ",", "? ", "?", "{", "}", "[", "]", "'", '"', "\\", " #c"),
    *("| ", "|\n  ", ">\n  ", "!", "&a ", "*a", "%", "@", "`", "\t", "\r", "\x85", "\u2028", "\ufeff"),
    *(" ", "  ", "\n", "\n", "\n---\n", "\n...\n", "key: v\n", "k:\n  x: y\n"),
    *(f"\n{' ' * depth}{word}" for depth in (0, 2, 4) for word in ("k:", "l: v", "m: {a: b}", "- i")),
)


def by_both(text: str) -> tuple[Any, Any] | None:
    """What both readers make of a text; `None` if only one of them reads it."""
    quick = read_marked(text)
    if quick is None:
        return None
    try:
        document = parse_document(text, Path("x"))
    except ConfigurationError as error:
        return quick, error.message
    return (quick.data, quick.marks), (document.data, document.marks)


def test_random_texts_are_read_alike() -> None:
    chosen, read = random.Random(1), 0
    for _ in range(cases(12_000)):
        text = "".join(chosen.choices(_WORDS, k=chosen.randrange(1, 14)))
        both = by_both(text)
        if both is not None:
            read += 1
            assert both[0] == both[1], text
    assert read > cases(1000)


def test_a_shares_file_is_read_by_the_fast_reader() -> None:
    both = by_both(SHARES)
    assert both is not None
    assert both[0] == both[1]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x",
        "a: !!str 1",
        "a: 1.5",
        "1: a",
        "? [a]\n: b",
        "a: 1\na: 2",
        "a: 2020-01-01",
        "a: |\n  b",
        "a:",
        "{a: 1}\n---\n{b: 2}",
        "%YAML 1.1\n---\na: b",
        "a: 'b",
        "a: " + "9" * 5000,
        "[" * 60 + "]" * 60,
        "a: b\x85",
    ],
)
def test_what_the_versions_of_yaml_may_read_differently_is_left_out(text: str) -> None:
    assert read_marked(text) is None


@pytest.mark.parametrize(
    "broken",
    ["  acme: {}\n", "  'broken: {}\n", "  x: {shares: [sales], colour: red}\n"],
    ids=["duplicate key", "syntax", "unknown key"],
)
def test_problems_of_large_files_have_the_same_messages(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sluicegate.access.shares_file.models import Declaration

    def message() -> str:
        with pytest.raises(ConfigurationError) as error:
            yaml.validate(Declaration, parse_document(SHARES + broken, Path("shares.yaml")))
        return error.value.message

    small = message()
    monkeypatch.setattr(yaml, "_LARGE", 0)
    assert message() == small
    assert small.startswith("shares.yaml:2")
