"""Views of an Iceberg REST catalog, and refs that it does not have: what recipients get of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from support.gateways.iceberg_rest import SCHEMA, SHARE, shared_from

from sluicegate_testing.servers.polaris import Polaris

VIEW = "the table cannot be shared: it is a view in its catalog"
NO_REF = "the branch or tag at which the table is shared does not exist"


@dataclass
class Views:
    """A gateway over a catalog with a view: the schema `eu` is shared entirely, `named` by name."""

    address: str
    token: str

    def get(self, path: str) -> httpx.Response:
        """The response to a request of the recipient."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(f"{self.address}{path}", headers=headers)

    def tables(self, schema: str) -> list[str]:
        """The names in a listing of Delta Sharing."""
        listed = self.get(f"/delta-sharing/shares/{SHARE}/schemas/{schema}/tables").json()
        return [each["name"] for each in listed["items"]]

    def iceberg(self) -> RestCatalog:
        """The share as PyIceberg sees it."""
        return RestCatalog("share", uri=f"{self.address}/iceberg", warehouse=SHARE, token=self.token)


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    with Polaris.start() as polaris:
        polaris.add((SCHEMA,), "orders", "s3://lake/orders", tags=("v1",))
        polaris.add_view((SCHEMA,), "report")
        polaris.add_generic((SCHEMA,), "clicks", "delta", "s3://lake/clicks")
        oauth2 = {"client_id": polaris.client_id, "client_secret": polaris.client_secret}
        catalog = {
            "type": "iceberg",
            "uri": polaris.uri,
            "warehouse": polaris.warehouse,
            "oauth2": {**oauth2, "scope": polaris.scope},
        }
        storage = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
        report = {"catalog": "lake", "table": f"{SCHEMA}.report", "access_modes": ["url", "dir"]}
        at_ref = {"catalog": "lake", "ref": "audit"}
        named = {
            "report": report,
            "audited": {**at_ref, "table": f"{SCHEMA}.orders"},
            "clicks": {**at_ref, "table": f"{SCHEMA}.clicks"},
        }
        schemas = {
            SCHEMA: {"from": {"catalog": "lake", "schema": SCHEMA, "access_modes": ["url", "dir"]}},
            "named": {"tables": named},
        }
        folder = tmp_path_factory.mktemp("views")
        with shared_from(folder, catalog, storage, schemas) as (gateway, recipient):
            token = json.loads(recipient.profile.read_text())["bearerToken"]
            yield Views(gateway.address, token)


def test_listings_have_the_tables_without_the_views(views: Views) -> None:
    assert views.tables(SCHEMA) == ["clicks", "orders"]
    assert views.iceberg().list_tables(SCHEMA) == [(SCHEMA, "clicks"), (SCHEMA, "orders")]
    assert "report" in views.tables("named")  # as it was declared


@pytest.mark.parametrize("what", ["metadata", "version"])
@pytest.mark.parametrize(
    ("table", "status", "message"),
    [
        (f"{SCHEMA}/tables/report", 400, VIEW),
        ("named/tables/report", 400, VIEW),
        (f"{SCHEMA}/tables/gone", 404, "there is no table 'gone'"),
        ("named/tables/audited", 404, NO_REF),
        ("named/tables/clicks", 400, "tables of format 'delta' have none"),
    ],
)
def test_the_error_says_what_the_name_belongs_to(
    views: Views, table: str, status: int, message: str, what: str
) -> None:
    answer = views.get(f"/delta-sharing/shares/{SHARE}/schemas/{table}/{what}")
    assert (answer.status_code, message in answer.json()["message"]) == (status, True)
    assert "audit" not in answer.text


@pytest.mark.parametrize("schema", [SCHEMA, "named"])
def test_a_view_is_no_table_of_the_iceberg_catalog(views: Views, schema: str) -> None:
    catalog = views.iceberg()
    assert not catalog.table_exists((schema, "report"))
    with pytest.raises(NoSuchTableError, match=VIEW):
        catalog.load_table((schema, "report"))


def test_the_iceberg_catalog_has_no_views_and_does_not_name_their_endpoints(views: Views) -> None:
    catalog = views.iceberg()
    assert catalog.list_views(SCHEMA) == []
    served = views.get(f"/iceberg/v1/config?warehouse={SHARE}").json()["endpoints"]
    assert not [each for each in served if "views" in each]
    listed = views.get(f"/iceberg/v1/shares/{SHARE}/namespaces/{SCHEMA}/views").json()
    assert listed == {"identifiers": [], "next-page-token": None}
