"""The content of shares is counted and read in parts, on each kind of database."""

from __future__ import annotations

from typing import Any

import pytest
from admin.conftest import Site

from sluicegate.admin.identity import Admin
from sluicegate.admin.services.contents import ContentSize, SharedContents, SharedCounts
from sluicegate.api.errors import NotFound

_TABLES = {
    f"t{number:02}": {"catalog": "raw", "table": f"file:///srv/{number}"} for number in range(50)
}
_MORE: dict[str, Any] = {
    "shares": {
        "Long": {
            "display_name": "Long one",
            "properties": {"a": "b"},
            "schemas": {
                "empty": {},
                "Full": {
                    "tables": {**_TABLES, "A-b": _TABLES["t00"], "A_b": _TABLES["t00"]},
                    "volumes": {"a-volume": {"catalog": "raw", "volume": "file:///srv/volume"}},
                },
            },
        },
        "all": {"from": {"catalog": "raw"}},
    },
    "recipients": {f"r{number}": {"shares": ["Long"]} for number in range(5)},
}


@pytest.fixture
async def contents(site: Site) -> SharedContents:
    admin = site.gateway.admin
    assert admin is not None
    file = admin.editor.check_file(_MORE)
    await admin.editor.apply(_admin(), file, prune=False, dry_run=False)
    return admin.contents


def _admin(*shares: str) -> Admin:
    return Admin("ada", "owner", frozenset(shares) if shares else None, "token", 0)


async def test_content_is_counted_within_the_shares_of_an_administrator(
    contents: SharedContents,
) -> None:
    assert await contents.count(_admin()) == SharedCounts(4, 4, 53, 1, 8, 1)
    assert await contents.count(_admin("long", "returns")) == SharedCounts(2, 3, 52, 1, 6, 0)
    assert await contents.count(_admin("missing")) == SharedCounts(0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["all", "Long", "returns", "sales"]),
        ("LON", ["Long"]),
        ("eu", ["returns", "sales"]),
        ("ORDERS", ["sales"]),
        ("A-Volume", ["Long"]),
        # Neither is a pattern.
        ("%", []),
        ("a_b", ["Long"]),
        ("t_0", []),
        ("nothing", []),
    ],
)
async def test_shares_are_found_by_any_name_inside(
    contents: SharedContents, text: str, expected: list[str]
) -> None:
    assert await contents.names(_admin(), text) == expected
    mine = await contents.names(_admin("sales", "long"), text)
    assert mine == [name for name in expected if name in ("sales", "Long")]


async def test_a_share_is_read_in_parts_without_gaps(contents: SharedContents) -> None:
    share = await contents.share(_admin(), "LONG")
    size = (await contents.sizes([share], ""))[share.id]
    assert size == ContentSize(54, 2, 53)
    parts = [
        (await contents.rows([share], "", first=first, most=20))[share.id] for first in (0, 20, 40, 60)
    ]
    assert [len(part) for part in parts] == [20, 20, 14, 0]
    rows = [row for part in parts for row in part]
    assert (rows[0].schema, rows[0].size, rows[0].name) == ("empty", 0, None)
    assert {(row.schema, row.size) for row in rows[1:]} == {("Full", 53)}
    names = [row.name for row in rows[1:]]
    assert sorted(map(str, names)) == sorted([*_TABLES, "A-b", "A_b", "a-volume"])
    assert rows[-1].kind == "volume"  # after all tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ong", ContentSize(54, 2, 53)),  # the share's name: all of it
        ("full", ContentSize(53, 1, 53)),  # a schema's name: all of this schema
        ("T0", ContentSize(10, 1, 10)),
        ("nothing", ContentSize(0, 0, 0)),
    ],
)
async def test_a_part_of_a_share_matches(
    contents: SharedContents, text: str, expected: ContentSize
) -> None:
    found = await contents.shares(["long", "sales", "missing"])
    assert [share.name for share in found] == ["Long", "sales"]
    sizes = await contents.sizes(found, text)
    rows = await contents.rows(found, text, first=0, most=100)
    assert sizes[found[0].id] == expected
    assert len(rows[found[0].id]) == expected.rows
    assert rows[found[1].id] == []


async def test_the_recipients_of_shares_are_counted_and_the_first_ones_named(
    contents: SharedContents,
) -> None:
    found = await contents.shares(["all", "long"])
    granted = await contents.recipients(found, most=3)
    assert [(len(each.names), each.total) for each in granted.values()] == [(0, 0), (3, 5)]
    everyone = (await contents.recipients(found, most=10))[found[1].id]
    assert sorted(everyone.names) == [f"r{number}" for number in range(5)]


async def test_a_share_is_read_with_its_options(contents: SharedContents) -> None:
    share = await contents.share(_admin(), "long")
    assert (share.name, share.display_name, share.properties) == ("Long", "Long one", {"a": "b"})
    assert (await contents.share(_admin(), "all")).source
    with pytest.raises(NotFound, match="there is no share 'sale'; did you mean 'sales'"):
        await contents.share(_admin(), "sale")
    assert await contents.schema_names(_admin("long"), 10) == ["Full", "empty"]
    assert len(await contents.schema_names(_admin(), 2)) == 2
