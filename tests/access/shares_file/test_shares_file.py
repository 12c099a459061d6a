"""Bad shares files: each says exactly what is wrong, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api.errors import ConfigurationError

CATALOGS = {"raw", "main"}


IN_SCHEMA = "shares.s.schemas.x"
IN_TABLE = f"{IN_SCHEMA}.tables.t"
SAME_NAME = "are the same name: names are case-insensitive"
NETWORK = "expected a network like 203.0.113.0/24, without host bits set"
NUL = "texts cannot contain a NUL character or half of a surrogate pair"


def _schema(entry: str) -> str:
    """A file whose line 4 begins with the schema's entry, at column 10."""
    return f"shares:\n  s:\n    schemas:\n      x: {entry}\n"


def _table(entry: str) -> str:
    """A file whose line 6 holds the table's entry, after `catalog`, at column 29."""
    return _schema(f"\n        tables:\n          t: {{catalog: raw, {entry}}}")


def _recipient(entry: str) -> str:
    """A file whose line 2 holds the recipient's entry, at column 10."""
    return f"recipients:\n  acme: {{{entry}}}\n"


BAD_FILES = [
    ("shares: [", ["1:10: expected the node content, but found '<stream end>'"]),
    ("shares: {}\nshares: {}", ["2:1: the key 'shares' occurs twice"]),
    ("- shares", ["1:1: expected a mapping"]),
    ("shres: {}", ["1:1: unknown key 'shres'; did you mean 'shares'?"]),
    ("shares: {s: }", ["1:12: shares.s: expected a mapping"]),
    (
        "shares: {s: {coment: x}}",
        ["1:14: shares.s: unknown key 'coment'; did you mean 'comment'?"],
    ),
    ("shares: {s: {comment: 1}}", ["1:23: shares.s.comment: expected a string (put it in quotes)"]),
    (
        f"shares: {{s: {{display_name: {'x' * 256}}}}}",
        ["1:28: shares.s.display_name: string should have at most 255 characters"],
    ),
    ("shares:\n  a b: {}", ["2:3: shares.a b: a share's name cannot contain a space"]),
    ("shares:\n  2024: {}", ["2:3: shares.2024: expected a string (put it in quotes)"]),
    ("shares: {a.b: {}}", ["1:10: shares.a.b: a share's name cannot contain a period"]),
    (
        "shares: {s: {schemas: {a.b: {}}}}",
        ["1:24: shares.s.schemas.a.b: a schema's name cannot contain a period"],
    ),
    ("shares:\n  Sales: {}\n  sales: {}\n", [f"3:3: 'sales' and 'Sales' {SAME_NAME}"]),
    (
        _schema("{tables: {t: {catalog: raw, table: a}, T: {catalog: raw, table: a}}}"),
        [f"4:49: 'T' and 't' {SAME_NAME}"],
    ),
    (
        _schema("{tables: {t: {catalog: raw, table: a}}, from: {catalog: raw, schema: a}}"),
        [f"4:10: {IN_SCHEMA}: a schema has either tables or from, not both"],
    ),
    (
        _schema("{from: {catalog: raw, schema: a, change_feed: true}}"),
        [f"4:17: {IN_SCHEMA}.from: change_feed needs history: true"],
    ),
    (
        _schema("{from: {catalog: raw, schema: a, access_modes: [dir], start_version: 3}}"),
        [
            f"4:17: {IN_SCHEMA}.from: a start_version cannot be enforced with access mode dir, which "
            "exposes older versions"
        ],
    ),
    *(
        (
            _schema(f"{{from: {{catalog: raw, schema: a, alias: '{alias}'}}}}"),
            [
                f"4:50: {IN_SCHEMA}.from.alias: expected up to 16 ASCII letters, digits, '_', '-' or "
                "'~', such as _"
            ],
        )
        for alias in ("", " ", "%20", ".", "ä", "_" * 17)
    ),
    (
        _schema("{from: {catalog: rwa, schema: a}}"),
        ["4:27: there is no catalog 'rwa' in the configuration; did you mean 'raw'?"],
    ),
    (
        "shares: {s: {from: {catalog: rwa}}}",
        ["1:30: there is no catalog 'rwa' in the configuration; did you mean 'raw'?"],
    ),
    (
        "shares: {s: {from: {catalog: raw, exclud: [x]}}}",
        ["1:35: shares.s.from: unknown key 'exclud'; did you mean 'exclude'?"],
    ),
    ("shares: {s: {from: {include: [x]}}}", ["1:20: shares.s.from: 'catalog' is missing"]),
    (
        "shares: {s: {from: {catalog: raw, change_feed: true}}}",
        ["1:20: shares.s.from: change_feed needs history: true"],
    ),
    (
        "shares: {s: {from: {catalog: raw, alias: ' '}}}",
        [
            "1:42: shares.s.from.alias: expected up to 16 ASCII letters, digits, '_', '-' or '~', such "
            "as _"
        ],
    ),
    (
        _table("tabel: x"),
        [
            f"6:14: {IN_TABLE}: 'table' is missing",
            f"6:29: {IN_TABLE}: unknown key 'tabel'; did you mean 'table'?",
        ],
    ),
    (_table("table: ''"), [f"6:36: {IN_TABLE}.table: string should have at least 1 character"]),
    (_table("table: x, change_feed: true"), [f"6:14: {IN_TABLE}: change_feed needs history: true"]),
    (_table("table: x, history: maybe"), [f"6:48: {IN_TABLE}.history: expected true or false"]),
    (
        _table("table: x, start_version: -1"),
        [f"6:54: {IN_TABLE}.start_version: input should be greater than or equal to 0"],
    ),
    (
        _table("table: x, access_modes: []"),
        [f"6:53: {IN_TABLE}.access_modes: expected url, dir or both"],
    ),
    (
        _table("table: x, access_modes: [file]"),
        [f"6:54: {IN_TABLE}.access_modes.0: input should be 'url' or 'dir'"],
    ),
    (
        _table("table: x, partition_filter: \"a = 'b' OR c = 'd'\""),
        [f"6:57: {IN_TABLE}.partition_filter: expected AND at character 9, found 'OR'"],
    ),
    (
        _table("table: x, partition_filter: \"a = 'b'\", access_modes: [url, dir]"),
        [
            f"6:14: {IN_TABLE}: a partition_filter cannot be enforced with access mode dir, which "
            "exposes all files"
        ],
    ),
    (
        _table("table: x, history: true, start_version: 3, access_modes: [dir]"),
        [
            f"6:14: {IN_TABLE}: a start_version cannot be enforced with access mode dir, which exposes "
            "older versions"
        ],
    ),
    (
        _table("table: x, ref: audit, access_modes: [url, dir]"),
        [
            f"6:14: {IN_TABLE}: a ref cannot be enforced with access mode dir, which exposes all "
            "branches and tags"
        ],
    ),
    (_table("table: x, ref: ''"), [f"6:44: {IN_TABLE}.ref: string should have at least 1 character"]),
    (
        _recipient("allow_from: [203.0.113.1/24]"),
        [f"2:23: recipients.acme.allow_from.0: {NETWORK}"],
    ),
    (
        _recipient("allow_from: 203.0.113.0/24"),
        ["2:22: recipients.acme.allow_from: expected a list"],
    ),
    (
        _recipient("token_lifetime: soon"),
        ["2:26: recipients.acme.token_lifetime: expected a duration like 90d, 24h, 15m or 30s"],
    ),
    (
        _recipient("token_lifetime: 0s"),
        ["2:26: recipients.acme.token_lifetime: input should be greater than or equal to 1"],
    ),
    (
        _recipient("token_lifetime: 366d"),
        [
            "2:26: recipients.acme.token_lifetime: expected at most one year (365d); rotate "
            "tokens before they expire"
        ],
    ),
    (_recipient('comment: "a\\0b"'), [f"2:19: recipients.acme.comment: {NUL}"]),
]


@pytest.mark.parametrize(("text", "expected"), BAD_FILES)
def test_a_bad_file_is_refused_with_what_is_wrong_and_where(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        read_shares_file(path, CATALOGS)
    lines = raised.value.message.splitlines()
    assert [line.removeprefix(f"{path}:") for line in lines] == expected


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml: No such file or directory"):
        read_shares_file(tmp_path / "absent.yaml", CATALOGS)


def test_an_empty_file_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "shares.yaml").touch()
    declaration = read_shares_file(tmp_path / "shares.yaml", CATALOGS).declaration
    assert (declaration.shares, declaration.recipients) == ({}, {})
