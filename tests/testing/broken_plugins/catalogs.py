"""A catalog with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

import ctypes
import json
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from testing.broken_plugins.upstream import ICEBERG, LAKE, PAGE_SIZE, SCHEMAS, Client, inventory

from sluicegate.api import (
    Catalog,
    CatalogTable,
    HttpResponse,
    ListedTable,
    NotFound,
    TablePage,
    Unavailable,
)
from sluicegate_testing.catalog import CatalogBehaviour, Expected, ExpectedTable


class LibraryError(Exception):
    """What an SDK raises."""


class Inventory(Catalog):
    """A correct catalog over the server."""

    client: type[Client] = Client

    def __init__(self, url: str) -> None:
        self._client = self.client(url)

    async def list_schemas(self) -> list[str]:
        return sorted(await self._all("/schemas", ""))

    async def list_tables(self, schema: str) -> list[str]:
        return sorted(await self._all("/tables", f"schema={quote(schema, safe='')}"))

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        query = f"schema={quote(schema, safe='')}&after={quote(token or '', safe='')}"
        page = await self._client.get("/tables", query)
        return TablePage([ListedTable(name) for name in page["names"]], page["next"])

    def identifier(self, schema: str, table: str) -> str:
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        schema, _, name = identifier.partition(".")
        query = f"schema={quote(schema, safe='')}&name={quote(name, safe='')}"
        if len(query) > 2000:
            raise NotFound("the inventory has no such entry")
        return self.table(await self._client.get("/table", query))

    def table(self, found: Mapping[str, str]) -> CatalogTable:
        return CatalogTable(
            found["id"],
            found["type"].lower(),
            found["location"].rstrip("/"),
            metadata_location=found.get("metadata"),
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _all(self, path: str, query: str) -> list[str]:
        names: list[str] = []
        after = ""
        while True:
            page = await self._client.get(path, f"{query}&after={quote(after, safe='')}")
            names += page["names"]
            if (after := page["next"]) is None:
                return names


class TestInventory(CatalogBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Inventory]] = Inventory
    page_size = PAGE_SIZE

    @pytest.fixture
    def url(self) -> Iterator[str]:
        with inventory() as url:
            yield url

    @pytest.fixture
    def catalog(self, url: str) -> Catalog:
        return self.kind(url)

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Catalog]:
        return {how: self.kind(url) for how, url in failing_servers.items()}

    @pytest.fixture
    def expected(self) -> Expected:
        return {
            schema: {
                name: ExpectedTable(f"{LAKE}/{schema}/{name}", "iceberg", table["metadata"])
                if name == ICEBERG
                else f"{LAKE}/{schema}/{name}"
                for name, table in tables.items()
            }
            for schema, tables in SCHEMAS.items()
        }


class FirstPageOnly(Inventory):
    async def _all(self, path: str, query: str) -> list[str]:
        names: list[str] = (await self._client.get(path, query))["names"]
        return names


class TestFirstPageOnly(TestInventory):
    caught_by = "test_every_page_of_a_listing_is_requested"
    kind = FirstPageOnly


class TagsWithoutListing(Inventory):
    def table(self, found: Mapping[str, str]) -> CatalogTable:
        return replace(super().table(found), tags={"class": "secret"})


class TestTagsWithoutListing(TestInventory):
    caught_by = "test_tables_have_the_tags_of_the_listing"
    kind = TagsWithoutListing


class FirstPageOfSchemas(Inventory):
    async def list_schemas(self) -> list[str]:
        names: list[str] = (await self._client.get("/schemas"))["names"]
        return names


class TestFirstPageOfSchemas(TestInventory):
    caught_by = "test_every_page_of_a_listing_is_requested"
    kind = FirstPageOfSchemas


class ForgetsTheNextToken(Inventory):
    async def table_page(self, schema: str, token: str | None) -> TablePage:
        return TablePage((await super().table_page(schema, token)).tables)


class TestForgetsTheNextToken(TestInventory):
    caught_by = "test_pages_of_a_listing_have_all_its_tables"
    kind = ForgetsTheNextToken


class TestPageSizeIsUndeclared(TestInventory):
    """A suite that would not notice the first mistake."""

    caught_by = "test_every_page_of_a_listing_is_requested"
    page_size = 100


class Sleeps(Inventory):
    async def list_schemas(self) -> list[str]:
        time.sleep(0.001)  # noqa: ASYNC251 - the mistake
        return await super().list_schemas()


class TestSleeps(TestInventory):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = Sleeps


class ReadsAFile(Inventory):
    async def load_table(self, identifier: str) -> CatalogTable:
        Path(__file__).read_bytes()  # noqa: ASYNC240 - the mistake
        return await super().load_table(identifier)


class TestReadsAFile(TestInventory):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = ReadsAFile


class ConnectsOnTheLoop(Inventory):
    async def list_schemas(self) -> list[str]:
        headers = {"Authorization": f"Bearer {self._client.token.get_secret_value()}"}
        request = urllib.request.Request(f"{self._client.url}/schemas", headers=headers)  # noqa: S310
        try:
            urllib.request.urlopen(request).close()  # noqa: ASYNC210, S310 - the mistake
        except OSError as error:
            raise Unavailable("the inventory does not respond; try again later") from error
        return await super().list_schemas()


class TestConnectsOnTheLoop(TestInventory):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = ConnectsOnTheLoop


class WaitsInCompiledCode(Inventory):
    async def list_schemas(self) -> list[str]:
        ctypes.CDLL(None).usleep(800_000)
        return await super().list_schemas()


class TestWaitsInCompiledCode(TestInventory):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = WaitsInCompiledCode


class RaisesAsItsLibrary(Inventory):
    class client(Client):  # noqa: N801
        async def get(self, path: str, query: str = "") -> dict[str, Any]:
            try:
                return await super().get(path, query)
            except Unavailable as error:
                raise LibraryError("HTTP status 500") from error


class TestRaisesAsItsLibrary(TestInventory):
    caught_by = "test_errors_are_those_of_the_api"
    kind = RaisesAsItsLibrary


class DoesNotCheckAnswers(Inventory):
    class client(Client):  # noqa: N801
        def parsed(self, answer: HttpResponse) -> dict[str, Any]:
            found: dict[str, Any] = json.loads(answer.content)
            return found


class TestDoesNotCheckAnswers(TestInventory):
    caught_by = "test_errors_are_those_of_the_api"
    kind = DoesNotCheckAnswers


class SecretInTheMessage(Inventory):
    class client(Client):  # noqa: N801
        async def get(self, path: str, query: str = "") -> dict[str, Any]:
            try:
                return await super().get(path, query)
            except Unavailable as error:
                token = self.token.get_secret_value()
                raise Unavailable(f"the inventory refuses the token {token}") from error


class TestSecretInTheMessage(TestInventory):
    caught_by = "test_errors_hide_secrets"
    kind = SecretInTheMessage


class LogsWhatTheServerRepeats(Inventory):
    class client(Client):  # noqa: N801
        def parsed(self, answer: HttpResponse) -> dict[str, Any]:
            try:
                return super().parsed(answer)
            except Unavailable as error:
                raise Unavailable(error.message, detail=answer.content.decode()) from error


class TestLogsWhatTheServerRepeats(TestInventory):
    caught_by = "test_errors_hide_secrets"
    kind = LogsWhatTheServerRepeats


class ShowsTheServersWords(Inventory):
    class client(Client):  # noqa: N801
        def parsed(self, answer: HttpResponse) -> dict[str, Any]:
            try:
                return super().parsed(answer)
            except Unavailable as error:
                raise Unavailable(answer.redacted(answer.content.decode())) from error


class TestShowsTheServersWords(TestInventory):
    caught_by = "test_messages_repeat_nothing_of_the_server"
    kind = ShowsTheServersWords


class OutageIsNotFound(Inventory):
    async def load_table(self, identifier: str) -> CatalogTable:
        try:
            return await super().load_table(identifier)
        except Unavailable as error:
            raise NotFound("the inventory has no such entry") from error


class TestOutageIsNotFound(TestInventory):
    caught_by = "test_an_outage_is_unavailable"
    kind = OutageIsNotFound


class OutageIsAnEmptyListing(Inventory):
    async def list_tables(self, schema: str) -> list[str]:
        try:
            return await super().list_tables(schema)
        except Unavailable:
            return []


class TestOutageIsAnEmptyListing(TestInventory):
    caught_by = "test_an_outage_is_no_empty_listing"
    kind = OutageIsAnEmptyListing


class IcebergIsDelta(Inventory):
    def table(self, found: Mapping[str, str]) -> CatalogTable:
        return super().table({**found, "type": "DELTA"})


class TestIcebergIsDelta(TestInventory):
    caught_by = "test_every_table_has_its_format"
    kind = IcebergIsDelta


class LosesTheMetadataFile(Inventory):
    def table(self, found: Mapping[str, str]) -> CatalogTable:
        return super().table({name: text for name, text in found.items() if name != "metadata"})


class TestLosesTheMetadataFile(TestInventory):
    caught_by = "test_every_table_has_its_metadata_file"
    kind = LosesTheMetadataFile
