"""The stand-in for Polaris: exchanges that a server of version 1.4.1 gave, and how 1.7 differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from sluicegate_testing.servers.polaris import Polaris, PolarisVersion

DELEGATION = "X-Iceberg-Access-Delegation"
TABLE = "/v1/lake/namespaces/ns0/tables/t0"
REALM = "Polaris-Realm"
EU = {REALM: "eu"}


@dataclass
class Client:
    """A principal of the server that signed in."""

    server: Polaris
    token: str = ""

    def sign_in(self, headers: dict[str, str] = EU, /, **form: str) -> httpx.Response:
        fields = {
            "grant_type": "client_credentials",
            "client_id": self.server.client_id,
            "client_secret": self.server.client_secret,
            "scope": self.server.scope,
        }
        url = f"{self.server.uri}/v1/oauth/tokens"
        return httpx.post(url, data=fields | form, headers=headers)

    def get(self, path: str, headers: dict[str, str] = EU, /, **query: str) -> httpx.Response:
        bearer = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(self.server.uri + path, headers=bearer | headers, params=query or None)

    def load(self, **query: str) -> dict[str, Any]:
        document: dict[str, Any] = self.get(TABLE, **query).json()
        return document


@pytest.fixture
def client() -> Iterator[Client]:
    with Polaris.start() as server:
        server.realm = "eu"
        server.add(("ns0",), "t0", "s3://lake/ns0/t0")
        client = Client(server)
        client.token = client.sign_in().json()["access_token"]
        yield client


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


@pytest.mark.parametrize(
    ("requires", "headers", "status"),
    [
        (False, EU, 200),
        (False, {}, 401),
        (False, {REALM: "POLARIS"}, 401),
        (False, {REALM: "nowhere"}, 404),
        (True, EU, 200),
        (True, {}, 404),
    ],
)
def test_realms(client: Client, requires: bool, headers: dict[str, str], status: int) -> None:
    """Another realm knows neither the client nor its token; an unknown one refuses everything."""
    client.server.requires_realm = requires
    token, config = client.sign_in(headers), client.get("/v1/config", headers, warehouse="lake")
    assert (token.status_code, config.status_code) == (status, status)
    if status == 404:
        assert refused(token) == refused(config) == (404, "MissingOrInvalidRealm")
    if status == 401:
        assert token.json()["error"] == "unauthorized_client"
        assert (config.content, config.headers["WWW-Authenticate"]) == (b"", "Bearer")


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({"client_secret": "x"}, 401, "unauthorized_client"),
        ({"scope": "catalog"}, 400, "invalid_scope"),
    ],
)
def test_clients(client: Client, form: dict[str, str], status: int, error: str) -> None:
    answer = client.sign_in(**form)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, (400, "BadRequestException")),
        ({"warehouse": "nowhere"}, (404, "NotFoundException")),
    ],
)
def test_warehouses(client: Client, query: dict[str, str], expected: tuple[int, str]) -> None:
    assert refused(client.get("/v1/config", **query)) == expected


@pytest.mark.parametrize("version", ["1.4", "1.7"])
@pytest.mark.parametrize("snapshots", [0, 1, 3])
def test_snapshots_that_refs_name(client: Client, version: PolarisVersion, snapshots: int) -> None:
    client.server.version = version
    client.server.add(("ns0",), "t0", "s3://lake/ns0/t0", snapshots)
    whole, refs = client.load(), client.load(snapshots="refs")
    assert whole == client.load(snapshots="all")
    assert len(whole["metadata"]["snapshots"]) == snapshots
    assert len(refs["metadata"]["snapshots"]) == min(snapshots, 1)
    assert whole["metadata-location"] not in str(whole["metadata"])
    if snapshots < 2:
        assert refs == whole
    elif version == "1.7":
        assert refs["metadata-location"] == whole["metadata-location"]
        assert refs["metadata"]["last-updated-ms"] == whole["metadata"]["last-updated-ms"]
    else:
        assert "metadata-location" not in refs
        assert refs["metadata"]["last-updated-ms"] > whole["metadata"]["last-updated-ms"]
        last = refs["metadata"]["metadata-log"][-1]
        assert last["metadata-file"] == whole["metadata-location"]


@pytest.mark.parametrize(("version", "tagged"), [("1.4", False), ("1.7", True)])
def test_entity_tags_come_with_the_place_of_the_metadata(
    client: Client, version: PolarisVersion, tagged: bool
) -> None:
    client.server.version = version
    tag = client.get(TABLE).headers["ETag"]
    assert ("ETag" in client.get(TABLE, snapshots="refs").headers) == tagged
    vended = EU | {DELEGATION: "vended-credentials"}
    assert client.get(TABLE, vended).headers["ETag"] == tag
    for headers, query in ((EU, {}), (EU, {"snapshots": "refs"}), (vended, {})):
        answer = client.get(TABLE, headers | {"If-None-Match": tag}, **query)
        assert (answer.status_code, answer.content) == (304, b"")
    client.server.commit(("ns0",), "t0")
    assert client.get(TABLE, EU | {"If-None-Match": tag}).headers["ETag"] != tag


def test_a_server_without_tags(client: Client) -> None:
    client.server.has_etags = False
    assert "ETag" not in client.get(TABLE).headers


def test_a_commit_logs_the_metadata_before_it(client: Client) -> None:
    before = client.load()
    client.server.commit(("ns0",), "t0")
    after = client.load()
    assert after["metadata-location"] != before["metadata-location"]
    assert after["metadata"]["metadata-log"][-1]["metadata-file"] == before["metadata-location"]
    assert after["metadata"]["table-uuid"] == before["metadata"]["table-uuid"]


@pytest.mark.parametrize(
    ("changed", "plain", "vended", "endpoint"),
    [
        ({}, 200, 200, 200),
        ({"may_load": False}, 403, 403, 403),
        ({"may_delegate": False}, 200, 403, 403),
        ({"assumes_role": False}, 200, 422, 422),
        ({"has_endpoint": False}, 200, 200, 404),
    ],
)
def test_privileges_and_the_clouds_sts(
    client: Client, changed: dict[str, bool], plain: int, vended: int, endpoint: int
) -> None:
    for name, value in changed.items():
        setattr(client.server, name, value)
    answers = (
        client.get(TABLE),
        client.get(TABLE, EU | {DELEGATION: "vended-credentials"}),
        client.get(f"{TABLE}/credentials"),
    )
    assert [answer.status_code for answer in answers] == [plain, vended, endpoint]
    kinds = {403: "ForbiddenException", 422: "UnprocessableEntityException", 404: "NotFound"}
    for answer in answers:
        assert answer.status_code == 200 or refused(answer)[1] == kinds[answer.status_code]


def test_credentials_of_the_endpoint_have_no_connection(client: Client) -> None:
    [vended] = client.get(f"{TABLE}/credentials").json()["storage-credentials"]
    assert vended["prefix"] == "s3://lake/ns0/t0"
    assert set(vended["config"]) == {
        "s3.access-key-id",
        "s3.secret-access-key",
        "s3.session-token",
        "s3.session-token-expires-at-ms",
        "expiration-time",
    }
    loaded = client.get(TABLE, EU | {DELEGATION: "vended-credentials"}).json()["config"]
    assert loaded["client.refresh-credentials-endpoint"] == f"{TABLE[1:]}/credentials"
    assert {"client.region", "s3.endpoint", "s3.path-style-access"} < set(loaded)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/lake/namespaces/ns0/tables/none", (404, "NoSuchTableException")),
        ("/v1/lake/namespaces/none/tables", (404, "NoSuchNamespaceException")),
        ("/v1/nowhere/namespaces", (404, "NoSuchNamespaceException")),
        (f"{TABLE}?snapshots=some", (400, "IllegalArgumentException")),
    ],
)
def test_what_is_not_there(client: Client, path: str, expected: tuple[int, str]) -> None:
    assert refused(client.get(path)) == expected


def test_remote_signing_is_refused(client: Client) -> None:
    answer = client.get(TABLE, EU | {DELEGATION: "remote-signing"})
    assert refused(answer) == (400, "IllegalArgumentException")


def test_listings_are_unordered_and_pages_are_off(client: Client) -> None:
    for name in "abcdefgh":
        client.server.add(("ns0",), name, f"s3://lake/{name}")
    answers = [client.get("/v1/lake/namespaces/ns0/tables", pageToken=token) for token in ("x", "")]
    for answer in answers:
        names = [each["name"] for each in answer.json()["identifiers"]]
        assert names != sorted(names)
        assert sorted(names) == [*"abcdefgh", "t0"]
        assert answer.json()["next-page-token"] is None


def test_generic_tables_have_no_credentials(client: Client) -> None:
    client.server.add_generic(("ns0",), "g", "delta", "s3://lake/g")
    answer = client.get("/polaris/v1/lake/namespaces/ns0/generic-tables/g").json()
    assert answer["storage-access-configs"] == []
    assert answer["table"]["base-location"] == "s3://lake/g"
    assert client.get("/v1/lake/namespaces/ns0/tables/g").status_code == 404


def test_bodies_are_compressed_where_clients_take_it(client: Client) -> None:
    assert client.get(TABLE, EU | {"Accept-Encoding": "gzip"}).headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get(TABLE, EU | {"Accept-Encoding": "identity"}).headers
