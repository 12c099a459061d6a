from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from sluicegate.api import Catalog
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_testing.catalog import CatalogBehaviour, Expected, ExpectedTable
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.polaris import Polaris, Reply, Request

PAGE_SIZE = 2
NAMES = {
    ("eu",): ["orders", "two words", "größe", "100%25", "v1.2", "a/b"],
    ("eu", "north"): ["orders"],
    ("eu.north",): ["orders"],
    ("100%",): ["orders"],
}
SCHEMAS = {"eu": ("eu",), "eu.north": ("eu", "north"), "eu%2Enorth": ("eu.north",), "100%25": ("100%",)}


LIES: Mapping[str, list[Any]] = {
    "identifiers": [
        {"namespace": ["elsewhere"], "name": "orders"},
        {"namespace": ["eu"], "name": ""},
        {"namespace": ["eu"], "name": "a\x1fb"},
    ],
    "namespaces": [[], [""], [".."]],
}


class Slow(Polaris):
    """Responds slowly to every request."""

    def reply(self, request: Request) -> Reply:
        time.sleep(0.02)
        return super().reply(request)


class Failing(Polaris):
    """Returns 503 to the first request for anything."""

    def reply(self, request: Request) -> Reply:
        known = any((each.path, each.query) == (request.path, request.query) for each in self.requests)
        answer = super().reply(request)
        return answer if known else Reply(503, b"<html>come again</html>")


class Lying(Polaris):
    """Lists duplicates, objects of other namespaces, and invalid names, with additional fields."""

    def reply(self, request: Request) -> Reply:
        answer = super().reply(request)
        if not isinstance(answer.document, dict):
            return answer
        document = {**answer.document, "unheard-of": [None]}
        for key, lies in LIES.items():
            if key in document:
                document[key] = [*lies, *document[key], *document[key]]
        return Reply(answer.status, document, answer.headers)


def connected(polaris: Polaris, uri: str) -> IcebergCatalog:
    oauth2 = {
        "client_id": polaris.client_id,
        "client_secret": polaris.client_secret,
        "scope": polaris.scope,
    }
    config = {"uri": uri, "warehouse": polaris.warehouse, "oauth2": oauth2}
    return IcebergCatalog.configured(IcebergConfig.model_validate(config), FakeContext())


def written(polaris: Polaris, namespace: tuple[str, ...], name: str) -> ExpectedTable:
    table = polaris.tables[namespace, name]
    return ExpectedTable(table.location, "iceberg", table.metadata_location)


class TestPolaris(CatalogBehaviour):
    """Return a catalog with names of every kind, several pages, and some Delta tables."""

    kind: ClassVar[type[Polaris]] = Polaris
    page_size = PAGE_SIZE

    @pytest.fixture
    def polaris(self) -> Iterator[Polaris]:
        with self.kind.start() as server:
            server.page_size = PAGE_SIZE
            for number, (namespace, names) in enumerate(NAMES.items()):
                for name in names:
                    server.add(namespace, name, f"s3://lake/{number}/{name}")
            server.add_generic(("eu",), "clicks", "delta", "s3://lake/delta/clicks/")
            server.add_generic(("eu",), "images", "lance", "s3://lake/lance/images")
            yield server

    @pytest.fixture
    def expected(self, polaris: Polaris) -> Expected:
        tables: dict[str, dict[str, str | ExpectedTable]] = {
            schema: {name: written(polaris, namespace, name) for name in NAMES[namespace]}
            for schema, namespace in SCHEMAS.items()
        }
        tables["eu"]["clicks"] = "s3://lake/delta/clicks"
        return tables

    @pytest.fixture
    def catalog(self, polaris: Polaris) -> Catalog:
        return connected(polaris, polaris.uri)

    @pytest.fixture
    def failing(self, polaris: Polaris, failing_servers: Mapping[str, str]) -> Mapping[str, Catalog]:
        if self.kind is not Polaris:  # the same as for the plain catalog
            return {}
        return {how: connected(polaris, url) for how, url in failing_servers.items()}

    @pytest.fixture
    def secrets(self, polaris: Polaris) -> Sequence[str]:
        return [polaris.client_secret]


class TestSlow(TestPolaris):
    kind = Slow


class TestFailing(TestPolaris):
    kind = Failing


class TestLying(TestPolaris):
    kind = Lying
