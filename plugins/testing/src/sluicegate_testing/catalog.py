"""Tests for every catalog plugin. Inherit the suite in the tests of your plugin.

class TestMyCatalog(CatalogBehaviour):
    @pytest.fixture
    def catalog(self) -> Catalog: ...
    @pytest.fixture
    def expected(self) -> Expected: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pytest
import pytest_asyncio

from sluicegate.api import (
    Catalog,
    CatalogTable,
    CredentialVendor,
    ListedTable,
    NotFound,
    SluicegateError,
)
from sluicegate_testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate_testing.checks.failures import Calls
from sluicegate_testing.servers.failing import SLOW


@dataclass(frozen=True)
class ExpectedTable:
    """A table as the catalog under test must report it.

    Attributes:
        location: Its location without a trailing slash.
        format: The format of its files, even if the catalog's server uses another name.
        metadata_location: Its current metadata file (Iceberg); `None` for other formats.
    """

    location: str
    format: str = "delta"
    metadata_location: str | None = None


Expected = Mapping[str, Mapping[str, str | ExpectedTable]]
"""Tables by schema and name. A string is the location of a Delta table."""

ODD_IDENTIFIERS = (
    "",
    " ",
    ".",
    "..",
    "../../etc",
    "a\0b",
    "ü" * 300,
    "x" * 5000,
    "a.b.c.d.e",
    "%2e%2e/x",
)


@pytest.mark.asyncio
class CatalogBehaviour(InstanceBehaviour):
    """Inherit it as `Test…`, and provide the fixtures `catalog`, `expected` and `failing`.

    Override `missing` and `secrets` if their defaults are not suitable.

    Attributes:
        page_size: Set it to the number of tables on a page of the tested server; `None` if the source
            has no pages. `expected` needs a schema with more than two pages of tables.
        schema_page_size: The same for schemas, of which `expected` needs more than one page. The
            default is `page_size`.
        can_list: Set it to `False` if the catalog can look up tables but not list them.
        can_hold_any_name: Set it to `False` if table names are ASCII only.
    """

    can_list: ClassVar[bool] = True
    can_hold_any_name: ClassVar[bool] = True
    page_size: ClassVar[int | None]
    schema_page_size: ClassVar[int | None]

    @pytest.fixture
    def catalog(self) -> Catalog:
        """The catalog under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'catalog'")

    @pytest.fixture
    def expected(self) -> Expected:
        """The content of the catalog: schemas, tables, and the expected report of each table."""
        raise NotImplementedError(
            "provide a fixture 'expected': {schema: {table: location}} for Delta tables, "
            "{schema: {table: ExpectedTable(location, format, metadata_location)}} for others"
        )

    @pytest.fixture
    def missing(self, catalog: Catalog, expected: Expected) -> str:
        """A well-formed identifier without a table."""
        return catalog.identifier(next(iter(expected)), "no_such_table")

    @pytest_asyncio.fixture
    async def subject(self, catalog: Catalog) -> AsyncIterator[Catalog]:
        """The catalog, closed at the end."""
        yield catalog
        await catalog.aclose()

    @pytest.fixture
    def listing(self, subject: Catalog) -> Catalog:
        """The catalog, if it can list tables. Otherwise, the test is skipped."""
        if not self.can_list:
            pytest.skip("this catalog declares can_list = False")
        return subject

    @pytest.fixture
    def calls(self, expected: Expected) -> MakeCalls:
        """Listings and lookups of existing schemas and tables."""

        def calls(catalog: Catalog) -> Calls:
            schema, tables = next(iter(expected.items()))
            lookups: Calls = {
                "load_table": lambda: catalog.load_table(catalog.identifier(schema, next(iter(tables))))
            }
            listings: Calls = {
                "list_schemas": catalog.list_schemas,
                "list_tables": lambda: catalog.list_tables(schema),
                "listed_tables": lambda: catalog.listed_tables(schema),
                "table_page": lambda: catalog.table_page(schema, None),
            }
            return {**lookups, **listings} if self.can_list else lookups

        return calls

    @pytest.fixture
    def invalid_calls(self, missing: str) -> MakeCalls:
        """Lookups and listings of schemas and tables that do not exist."""

        def calls(catalog: Catalog) -> Calls:
            lookups: Calls = {
                f"load_table of {name[:20]!r}": partial(catalog.load_table, name)
                for name in (missing, *ODD_IDENTIFIERS)
            }
            listings: Calls = {
                f"list_tables of {name[:20]!r}": partial(catalog.list_tables, name)
                for name in ODD_IDENTIFIERS
            }
            return {**lookups, **listings} if self.can_list else lookups

        return calls

    async def test_schemas_are_listed_in_order(self, listing: Catalog, expected: Expected) -> None:
        assert await listing.list_schemas() == sorted(expected)

    async def test_tables_are_listed_in_order(self, listing: Catalog, expected: Expected) -> None:
        listed = {schema: await listing.list_tables(schema) for schema in expected}
        assert listed == {schema: sorted(tables) for schema, tables in expected.items()}

    async def test_ids_in_a_listing_are_those_of_its_tables(
        self, listing: Catalog, expected: Expected
    ) -> None:
        for schema in expected:
            listed = await listing.listed_tables(schema)
            assert [table.name for table in listed] == await listing.list_tables(schema)
            for table in listed:
                loaded = await listing.load_table(listing.identifier(schema, table.name))
                assert table.id in (None, loaded.id)

    async def test_pages_of_a_listing_have_all_its_tables(
        self, listing: Catalog, expected: Expected
    ) -> None:
        for schema in expected:
            found: list[ListedTable] = []
            token: str | None = None
            while True:
                page = await listing.table_page(schema, token)
                found += page.tables
                if (token := page.next_token) is None:
                    break
            assert sorted(found, key=lambda table: table.name) == await listing.listed_tables(schema)

    async def test_every_page_of_a_listing_is_requested(
        self, listing: Catalog, expected: Expected
    ) -> None:
        tables, schemas = self._page_sizes()
        if tables is None and schemas is None:
            pytest.skip("this catalog declares page_size = None")
        longest = max(expected, key=lambda schema: len(expected[schema]))
        needed = f"'expected' needs a schema with more than {2 * (tables or 0)} tables"
        assert tables is None or len(expected[longest]) > 2 * tables, needed
        assert await listing.list_tables(longest) == sorted(expected[longest])
        needed = f"'expected' needs more than {schemas or 0} schemas"
        assert schemas is None or len(expected) > schemas, needed
        assert await listing.list_schemas() == sorted(expected)

    async def test_an_outage_is_no_empty_listing(
        self, outages: Mapping[str, Catalog], expected: Expected
    ) -> None:
        if not self.can_list:
            pytest.skip("this catalog declares can_list = False")
        schema = next(iter(expected))
        catalogs = [catalog for how, catalog in outages.items() if how != SLOW]
        tables = await asyncio.gather(*(_listed(each.list_tables(schema)) for each in catalogs))
        schemas = await asyncio.gather(*(_listed(each.list_schemas()) for each in catalogs))
        assert all(listed in (None, sorted(expected[schema])) for listed in tables)
        assert all(listed in (None, sorted(expected)) for listed in schemas)

    async def test_tables_that_are_found_by_name_have_the_ids_of_the_listing(
        self, listing: Catalog, expected: Expected
    ) -> None:
        if not listing.finds_by_name:
            pytest.skip("this catalog declares finds_by_name = False")
        for schema in expected:
            for table in await listing.listed_tables(schema):
                loaded = await listing.load_table(listing.identifier(schema, table.name))
                assert table.id == loaded.id

    async def test_tables_have_the_tags_of_the_listing(
        self, listing: Catalog, expected: Expected
    ) -> None:
        """Otherwise, a policy would hide tables from listings that recipients can read."""
        for schema in expected:
            for table in await listing.listed_tables(schema):
                loaded = await listing.load_table(listing.identifier(schema, table.name))
                assert table.tags == loaded.tags

    async def test_an_unknown_schema_is_not_found(self, listing: Catalog) -> None:
        with pytest.raises(NotFound):
            await listing.list_tables("no_such_schema")

    async def test_every_table_loads_from_its_identifier(
        self, subject: Catalog, expected: Expected
    ) -> None:
        loaded = await _load_all(subject, expected)
        located = {key: table.location for key, table in loaded.items()}
        assert located == {key: table.location for key, table in _flat(expected).items()}

    async def test_every_table_has_its_format(self, subject: Catalog, expected: Expected) -> None:
        loaded = await _load_all(subject, expected)
        formats = {key: table.format for key, table in loaded.items()}
        assert formats == {key: table.format for key, table in _flat(expected).items()}

    async def test_every_table_has_its_metadata_file(
        self, subject: Catalog, expected: Expected
    ) -> None:
        loaded = await _load_all(subject, expected)
        files = {key: table.metadata_location for key, table in loaded.items()}
        assert files == {key: table.metadata_location for key, table in _flat(expected).items()}
        lost = [key for key, table in loaded.items() if table.format == "iceberg" and not files[key]]
        assert lost == [], "a table of format 'iceberg' needs its metadata_location"

    async def test_locations_are_absolute_without_a_final_slash(
        self, subject: Catalog, expected: Expected
    ) -> None:
        for table in (await _load_all(subject, expected)).values():
            for location in (table.location, *table.auxiliary_locations):
                assert "://" in location
                assert not location.endswith("/")

    async def test_ids_stay_the_same_and_are_unique(self, subject: Catalog, expected: Expected) -> None:
        first = {key: table.id for key, table in (await _load_all(subject, expected)).items()}
        again = {key: table.id for key, table in (await _load_all(subject, expected)).items()}
        assert first == again
        assert len(set(first.values())) == len(first)
        assert all(first.values())

    async def test_a_table_says_its_format_and_who_vends(
        self, subject: Catalog, expected: Expected
    ) -> None:
        for table in (await _load_all(subject, expected)).values():
            assert table.format == table.format.lower()
            assert table.format
            assert table.vendor is None or isinstance(table.vendor, CredentialVendor)

    async def test_names_beyond_ascii_and_with_spaces_load(
        self, subject: Catalog, expected: Expected
    ) -> None:
        if not self.can_hold_any_name:
            pytest.skip("this catalog declares can_hold_any_name = False")
        names = [name for tables in expected.values() for name in tables]
        assert [name for name in names if not name.isascii()], "'expected' needs a name like 'größe'"
        assert [name for name in names if " " in name], "'expected' needs a name like 'two words'"
        assert len(await _load_all(subject, expected)) == len(names)

    async def test_an_unknown_table_is_not_found(self, subject: Catalog, missing: str) -> None:
        with pytest.raises(NotFound):
            await subject.load_table(missing)

    @pytest.mark.parametrize("identifier", ODD_IDENTIFIERS, ids=range(len(ODD_IDENTIFIERS)))
    async def test_an_odd_identifier_is_not_found(self, subject: Catalog, identifier: str) -> None:
        with pytest.raises(NotFound):
            await subject.load_table(identifier)

    async def test_many_load_at_once(self, subject: Catalog, expected: Expected) -> None:
        alone = await _load_all(subject, expected)
        together = await asyncio.gather(*(_load_all(subject, expected) for _ in range(16)))
        assert all(_ids(answers) == _ids(alone) for answers in together)

    def _page_sizes(self) -> tuple[int | None, int | None]:
        """Tables and schemas per page."""
        if not hasattr(self, "page_size"):
            pytest.fail("set page_size to the number of tables on a page of the server, or to None")
        return self.page_size, getattr(self, "schema_page_size", self.page_size)


Loaded = Mapping[tuple[str, str], CatalogTable]


async def _load_all(catalog: Catalog, expected: Expected) -> Loaded:
    return {
        (schema, name): await catalog.load_table(catalog.identifier(schema, name))
        for schema, tables in expected.items()
        for name in tables
    }


async def _listed(call: Awaitable[list[str]]) -> list[str] | None:
    """Return the listing, or `None` if the call is rejected."""
    try:
        return await call
    except SluicegateError:
        return None


def _flat(expected: Expected) -> Mapping[tuple[str, str], ExpectedTable]:
    return {
        (schema, name): table if isinstance(table, ExpectedTable) else ExpectedTable(table)
        for schema, tables in expected.items()
        for name, table in tables.items()
    }


def _ids(loaded: Loaded) -> dict[tuple[str, str], str]:
    return {key: table.id for key, table in loaded.items()}
