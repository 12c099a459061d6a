"""What every catalog plugin must do, as a suite that its author's tests inherit.

class TestMyCatalog(CatalogBehaviour):
    @pytest.fixture
    def catalog(self) -> Catalog: ...
    @pytest.fixture
    def expected(self) -> Expected: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import ClassVar

import pytest
import pytest_asyncio

from sluicegate.api import Catalog, CatalogTable, CredentialVendor, NotFound

Expected = Mapping[str, Mapping[str, str]]

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
class CatalogBehaviour:
    """Inherit it as `Test…`, and give the fixtures `catalog` and `expected` (and `missing`, `secrets`).

    Attributes:
        can_list: Declare `False` where the catalog can look tables up but not list them.
        can_hold_any_name: Declare `False` where table names are ASCII only.
    """

    can_list: ClassVar[bool] = True
    can_hold_any_name: ClassVar[bool] = True

    @pytest.fixture
    def catalog(self) -> Catalog:
        """The catalog under test; the suite closes it."""
        raise NotImplementedError("give a fixture 'catalog'")

    @pytest.fixture
    def expected(self) -> Expected:
        """What the catalog offers: schema, table, and the table's location (without a final slash)."""
        raise NotImplementedError("give a fixture 'expected': {schema: {table: location}}")

    @pytest.fixture
    def missing(self, catalog: Catalog, expected: Expected) -> str:
        """An identifier that is well formed and names no table."""
        return catalog.identifier(next(iter(expected)), "no_such_table")

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        """Secrets of the configuration, which no text of the catalog may show."""
        return ()

    @pytest_asyncio.fixture
    async def subject(self, catalog: Catalog) -> AsyncIterator[Catalog]:
        """The catalog, closed at the end."""
        yield catalog
        await catalog.aclose()

    @pytest.fixture
    def listing(self, subject: Catalog) -> Catalog:
        """The catalog, where it declares that it can list."""
        if not self.can_list:
            pytest.skip("this catalog declares can_list = False")
        return subject

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

    async def test_an_unknown_schema_is_not_found(self, listing: Catalog) -> None:
        with pytest.raises(NotFound):
            await listing.list_tables("no_such_schema")

    async def test_every_table_loads_from_its_identifier(
        self, subject: Catalog, expected: Expected
    ) -> None:
        loaded = await _load_all(subject, expected)
        located = {
            schema: {name: loaded[schema, name].location for name in tables}
            for schema, tables in expected.items()
        }
        assert located == expected

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

    async def test_its_texts_hide_secrets(self, subject: Catalog, secrets: Sequence[str]) -> None:
        shown = f"{subject!r} {subject}"
        assert [secret for secret in secrets if secret in shown] == []

    async def test_closing_twice_is_harmless(self, subject: Catalog) -> None:
        await subject.aclose()
        await subject.aclose()


Loaded = Mapping[tuple[str, str], CatalogTable]


async def _load_all(catalog: Catalog, expected: Expected) -> Loaded:
    return {
        (schema, name): await catalog.load_table(catalog.identifier(schema, name))
        for schema, tables in expected.items()
        for name in tables
    }


def _ids(loaded: Loaded) -> dict[tuple[str, str], str]:
    return {key: table.id for key, table in loaded.items()}
