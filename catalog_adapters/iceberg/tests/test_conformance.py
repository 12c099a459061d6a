from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from sluicegate.api import Catalog
from sluicegate.testing.catalog import CatalogBehaviour, Expected
from sluicegate.testing.fakes import FakeContext
from sluicegate.testing.servers.polaris import Polaris, Reply, Request
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig

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
    """Takes its time for every answer."""

    def reply(self, request: Request) -> Reply:
        time.sleep(0.02)
        return super().reply(request)


class Failing(Polaris):
    """Has no time for anything that it is asked for the first time."""

    def reply(self, request: Request) -> Reply:
        known = any((each.path, each.query) == (request.path, request.query) for each in self.requests)
        answer = super().reply(request)
        return answer if known else Reply(503, b"<html>come again</html>")


class Lying(Polaris):
    """Lists things twice, things of elsewhere, and things that cannot be, with fields of its own."""

    def reply(self, request: Request) -> Reply:
        answer = super().reply(request)
        if not isinstance(answer.document, dict):
            return answer
        document = {**answer.document, "unheard-of": [None]}
        for key, lies in LIES.items():
            if key in document:
                document[key] = [*lies, *document[key], *document[key]]
        return Reply(answer.status, document, answer.headers)


class TestPolaris(CatalogBehaviour):
    """Names of every kind, page after page, some of them Delta tables."""

    kind: ClassVar[type[Polaris]] = Polaris

    @pytest.fixture
    def polaris(self) -> Iterator[Polaris]:
        with self.kind.start() as server:
            server.page_size = 2
            for number, (namespace, names) in enumerate(NAMES.items()):
                for name in names:
                    server.add(namespace, name, f"s3://lake/{number}/{name}")
            server.add_generic(("eu",), "clicks", "delta", "s3://lake/delta/clicks/")
            server.add_generic(("eu",), "images", "lance", "s3://lake/lance/images")
            yield server

    @pytest.fixture
    def expected(self, polaris: Polaris) -> Expected:
        tables = {
            schema: {name: polaris.tables[namespace, name] for name in NAMES[namespace]}
            for schema, namespace in SCHEMAS.items()
        }
        tables["eu"]["clicks"] = "s3://lake/delta/clicks"
        return tables

    @pytest.fixture
    def catalog(self, polaris: Polaris) -> Catalog:
        oauth2 = {
            "client_id": polaris.client_id,
            "client_secret": polaris.client_secret,
            "scope": polaris.scope,
        }
        config = {"uri": polaris.uri, "warehouse": polaris.warehouse, "oauth2": oauth2}
        return IcebergCatalog.configured(IcebergConfig.model_validate(config), FakeContext())

    @pytest.fixture
    def secrets(self, polaris: Polaris) -> Sequence[str]:
        return [polaris.client_secret]


class TestSlow(TestPolaris):
    kind = Slow


class TestFailing(TestPolaris):
    kind = Failing


class TestLying(TestPolaris):
    kind = Lying
