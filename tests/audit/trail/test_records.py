"""What the audit log says about each kind of request, allowed or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from support.clients.asgi import Answer
from support.gateways.audited import FILES, SiteInThread

from sluicegate.audit.records import AuditRecord

_TABLES = "/delta-sharing/shares/sales/schemas/eu/tables"
_NAMESPACE = "/iceberg/v1/shares/sales/namespaces/eu"
_POLICY = "policy names-1"
_GRANT = f"grant sales; {_POLICY}"
_ORDERS = "sales.eu.Orders"


@dataclass(frozen=True)
class Case:
    """A request of a recipient, and its record."""

    sends: tuple[Any, ...]
    expects: tuple[str, str | None, int, str | None]
    issued: dict[str, object] | None = None
    recipient: str = "acme"

    @property
    def outcome(self) -> str:
        status = self.expects[2]
        return "allowed" if status < 400 else "refused" if status < 500 else "failed"


def _query(table: str) -> tuple[str, str, dict[str, Any]]:
    return "POST", f"{_TABLES}/{table}/query", {}


def _credentials(table: str) -> tuple[str, str, dict[str, Any]]:
    return "POST", f"{_TABLES}/{table}/temporary-table-credentials", {}


_URLS = {"kind": "urls", "version": FILES - 1, "files": FILES}
CASES = {
    "listing": Case(("GET", "/delta-sharing/shares"), ("listShares", None, 200, "authentication")),
    "name in another case": Case(
        ("GET", "/delta-sharing/shares/SALES"), ("getShare", "sales", 200, "grant sales")
    ),
    "schemas": Case(
        ("GET", "/delta-sharing/shares/sales/schemas"), ("listSchemas", "sales", 200, "grant sales")
    ),
    "table": Case(("GET", f"{_TABLES}/orders"), ("getTable", _ORDERS, 200, _GRANT)),
    "HEAD of a version": Case(
        ("HEAD", f"{_TABLES}/orders"), ("queryTableVersionByHead", _ORDERS, 200, _GRANT)
    ),
    "version": Case(("GET", f"{_TABLES}/orders/version"), ("queryTableVersion", _ORDERS, 200, _GRANT)),
    "metadata": Case(
        ("GET", f"{_TABLES}/orders/metadata"), ("queryTableMetadata", _ORDERS, 200, _GRANT)
    ),
    "query": Case(_query("ORDERS"), ("queryTable", _ORDERS, 200, _GRANT), _URLS),
    "cached query": Case(_query("ORDERS"), ("queryTable", _ORDERS, 200, _GRANT), _URLS),
    "query with a limit": Case(
        ("POST", f"{_TABLES}/orders/query", {"limitHint": 1}),
        ("queryTable", _ORDERS, 200, _GRANT),
        {"kind": "urls", "version": FILES - 1, "most_files": FILES},
    ),
    "part of a table": Case(
        _query("german"),
        ("queryTable", "sales.eu.german", 200, f"grant sales; partition filter; {_POLICY}"),
        {"kind": "urls", "files": 1},
    ),
    "part of a table without the property": Case(
        _query("german"),
        ("queryTable", "sales.eu.german", 403, "partition filter"),
        recipient="nobody",
    ),
    "changes": Case(
        ("GET", f"{_TABLES}/orders/changes?startingVersion=1"),
        ("queryTableChanges", _ORDERS, 200, _GRANT),
        {"kind": "urls", "first_version": 1, "last_version": FILES - 1},
    ),
    "changes that are not shared": Case(
        ("GET", f"{_TABLES}/bare/changes?startingVersion=1"),
        ("queryTableChanges", "sales.eu.bare", 400, "history"),
    ),
    "credentials": Case(
        _credentials("orders"),
        ("generateTemporaryTableCredential", _ORDERS, 200, _GRANT),
        {"kind": "credentials", "cloud": "aws"},
    ),
    "credentials of another access mode": Case(
        _credentials("bare"),
        ("generateTemporaryTableCredential", "sales.eu.bare", 400, "access mode"),
    ),
    "credentials that a policy denies": Case(
        _credentials("unvended"),
        ("generateTemporaryTableCredential", "sales.eu.unvended", 403, _POLICY),
    ),
    "table that a policy hides": Case(
        _query("hidden"), ("queryTable", "sales.eu.hidden", 404, _POLICY)
    ),
    "policy that fails": Case(_query("undecided"), ("queryTable", "sales.eu.undecided", 503, _POLICY)),
    "table that does not exist": Case(_query("none"), ("queryTable", "sales.eu.none", 404, "name")),
    "share that is not granted": Case(
        ("GET", "/delta-sharing/shares/secret/schemas"), ("listSchemas", "secret", 404, "grant")
    ),
    "share that does not exist": Case(
        ("GET", "/delta-sharing/shares/nothing/schemas"), ("listSchemas", "nothing", 404, "grant")
    ),
    "invalid parameter": Case(
        ("POST", f"{_TABLES}/orders/query", {"version": "x"}),
        ("queryTable", "sales.eu.orders", 400, "request"),
    ),
    "network": Case(
        _query("orders"), ("queryTable", "sales.eu.orders", 403, "network"), recipient="far"
    ),
    "files of a day": Case(
        _query("orders"), ("queryTable", _ORDERS, 429, "limit files_per_day"), recipient="limited"
    ),
    "another request": Case(
        ("GET", "/delta-sharing/shares"),
        ("listShares", None, 200, "authentication"),
        recipient="limited",
    ),
    "too many requests": Case(
        _query("orders"), ("queryTable", "sales.eu.orders", 429, "limit requests"), recipient="limited"
    ),
    "Iceberg catalog": Case(
        ("GET", "/iceberg/v1/config?warehouse=SALES"), ("icebergConfig", "sales", 200, "grant sales")
    ),
    "Iceberg catalog that is not granted": Case(
        ("GET", "/iceberg/v1/config?warehouse=secret"), ("icebergConfig", "secret", 404, "grant")
    ),
    "Iceberg namespace": Case(
        ("HEAD", _NAMESPACE), ("icebergNamespaceExists", "sales.eu", 204, "grant sales")
    ),
    "Iceberg table": Case(
        ("GET", f"{_NAMESPACE}/tables/orders"),
        ("icebergLoadTable", _ORDERS, 200, _GRANT),
        {"kind": "store key"},
    ),
    "Iceberg table that a policy hides": Case(
        ("GET", f"{_NAMESPACE}/tables/hidden"), ("icebergLoadTable", "sales.eu.hidden", 404, _POLICY)
    ),
    "Iceberg scan": Case(
        ("POST", f"{_NAMESPACE}/tables/orders/plan", {}),
        ("icebergPlanTableScan", _ORDERS, 200, _GRANT),
        {"kind": "file paths", "version": FILES - 1},
    ),
    "Iceberg path that was not issued": Case(
        (
            "POST",
            f"{_NAMESPACE}/tables/orders/sign",
            {
                "method": "GET",
                "region": "us-east-1",
                "uri": "https://share.example/iceberg-files/SG/x",
                "headers": {},
            },
        ),
        ("icebergSignRequest", _ORDERS, 403, "file path"),
    ),
    "write to Iceberg": Case(
        ("POST", "/iceberg/v1/namespaces", {}), ("icebergRefusePost", None, 403, "request")
    ),
}


Results = Mapping[str, tuple[Answer, list[AuditRecord]]]


@pytest.fixture(scope="module")
def results(shared_site: SiteInThread) -> Results:
    """The responses and records. Requests are sent once, in order: some depend on earlier ones."""
    send = shared_site.site.recipient
    return {
        name: shared_site.records(send(case.recipient, *case.sends)) for name, case in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_a_request_of_a_recipient_has_one_record(
    shared_site: SiteInThread, results: Results, name: str
) -> None:
    case, (answer, records) = CASES[name], results[name]
    [record] = records
    action, resource, status, rule = case.expects
    assert answer.status == status, answer.body
    assert (record.action, record.resource, record.status, record.rule) == (
        action,
        resource,
        status,
        rule,
    )
    credential = shared_site.site.credentials[case.recipient]
    assert record.outcome == case.outcome
    assert (record.actor_kind, record.actor) == ("recipient", case.recipient)
    assert record.method == f"bearer {credential.id}"
    assert record.address == "127.0.0.1"
    assert record.request_id == answer.headers["x-request-id"]
    expected = case.issued or {}
    assert expected.items() <= record.issued.items()
    assert bool(record.issued) == bool(expected)
    assert record.changes == ()
    named = "/shares/" in case.sends[1] or ("warehouse" in case.sends[1] and status == 200)
    assert record.share == (resource.partition(".")[0] if resource and named else None)
