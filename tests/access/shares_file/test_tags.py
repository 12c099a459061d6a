"""Tags in shares files: applied, inherited, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from access.conftest import Apply
from sqlalchemy import select

from sluicegate.access.grants import Grants
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api import Principal
from sluicegate.api.errors import ConfigurationError
from sluicegate.database import Store
from sluicegate.database.tables import recipients

FILE = """\
shares:
  sales:
    tags: {region: us, owner: sales}
    schemas:
      eu:
        tags: {region: eu}
        tables:
          orders: {catalog: raw, table: "s3://lake/orders"}
          prices: {catalog: raw, table: "s3://lake/prices", tags: {owner: "", class: public}}
        volumes:
          files: {catalog: raw, volume: "s3://lake/files", tags: {region: asia}}
      whole: {tags: {class: internal}, from: {catalog: main, schema: main.us}}
recipients:
  acme: {shares: [sales]}
"""


async def tags(store: Store) -> Mapping[str, Mapping[str, str]]:
    """The tags that policies see, by name."""
    async with store.read() as connection:
        id = (await connection.execute(select(recipients.c.id))).scalar_one()
    grants, acme = Grants(store), Principal(id, "acme", "bearer")
    found: dict[str, Mapping[str, str]] = {}
    for schema in await grants.schemas(acme, "sales"):
        tables = [*await grants.tables(schema), *await grants.assets(schema, "volume")]
        found |= {table.name: table.tags for table in tables}
        if not tables:
            found[schema.name] = {**schema.share.tags, **schema.tags}
    return found


async def test_the_nearest_tag_takes_precedence(apply: Apply, store: Store) -> None:
    await apply(FILE)
    assert await tags(store) == {
        "orders": {"region": "eu", "owner": "sales"},
        "prices": {"region": "eu", "owner": "", "class": "public"},
        "files": {"region": "asia", "owner": "sales"},
        "whole": {"region": "us", "owner": "sales", "class": "internal"},
    }
    assert await apply(FILE) == ["nothing to change"]


async def test_changes_of_tags_are_shown_and_applied(apply: Apply, store: Store) -> None:
    assert '    tags: {"owner": "", "class": "public"}' in await apply(FILE)
    changed = FILE.replace("        tags: {region: eu}\n", "").replace("class: public", "class: secret")
    assert await apply(changed) == [
        "~ schema sales.eu",
        '    tags: {"region": "eu"} → {}',
        "~ table sales.eu.prices",
        '    tags: {"owner": "", "class": "public"} → {"owner": "", "class": "secret"}',
    ]
    found = await tags(store)
    assert found["orders"]["region"] == "us"
    assert found["prices"]["class"] == "secret"


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("{owner: 1}", "expected a string (put it in quotes)"),
        ('{"": x}', "at least 1 character"),
        (f"{{owner: {'x' * 1001}}}", "at most 1000 characters"),
        ("[owner]", "expected a mapping"),
    ],
)
def test_invalid_tags_are_refused(declared: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(f"shares:\n  sales:\n    tags: {declared}\n")
    with pytest.raises(ConfigurationError) as raised:
        read_shares_file(path, {"raw"})
    assert problem in str(raised.value)
