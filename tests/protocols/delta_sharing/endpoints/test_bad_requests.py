"""Every wrong request has its status and error code, always as JSON, and leaves a readable log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from support.gateways.gateway import RunningGateway
from support.servers.raw_http import send_raw

T = "/shares/sales/schemas/eu/tables/orders"
QUERY = f"{T}/query"
BAD, MALFORMED, UNSUPPORTED = (
    (400, "INVALID_PARAMETER_VALUE"),
    (400, "MALFORMED_REQUEST"),
    (400, "UNSUPPORTED_OPERATION"),
)
UNREADABLE, NO_TOKEN, FORBIDDEN = (
    (400, "TABLE_UNREADABLE"),
    (401, "UNAUTHENTICATED"),
    (403, "PERMISSION_DENIED"),
)
MISSING, NO_METHOD, TOO_LARGE = (
    (404, "RESOURCE_DOES_NOT_EXIST"),
    (405, "METHOD_NOT_ALLOWED"),
    (413, "REQUEST_TOO_LARGE"),
)
LATER = (503, "TEMPORARILY_UNAVAILABLE")


@dataclass(frozen=True)
class Wrong:
    method: str
    path: str
    expected: tuple[int, str]
    says: str = ""
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        sent = [repr(part)[:60] for part in (self.body, self.raw, self.headers) if part]
        return " ".join([self.method, self.path[:90], *sent])


def get(path: str, expected: tuple[int, str], says: str = "", **headers: str) -> Wrong:
    return Wrong(
        "GET", path, expected, says, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def query(body: Any, expected: tuple[int, str], says: str = "", table: str = "orders") -> Wrong:
    return Wrong("POST", f"/shares/sales/schemas/eu/tables/{table}/query", expected, says, body=body)


def raw(content: bytes, expected: tuple[int, str], says: str = "") -> Wrong:
    return Wrong("POST", QUERY, expected, says, raw=content)


CASES = [
    # routes
    get("", MISSING, "no such route"),
    get("/", MISSING, "no such route"),
    get("/nothing", MISSING, "no such route"),
    get("/shares/", MISSING),
    get("/shares/sales/nothing", MISSING),
    get("/shares/sales/schemas/eu", MISSING),
    get("/shares/sales/schemas/eu/tables/", MISSING),
    get(f"{T}/nothing", MISSING),
    get(f"{T}/metadata/", MISSING),
    get("/../../etc/passwd", MISSING),
    # methods
    Wrong("POST", "/shares", NO_METHOD, "GET"),
    Wrong("DELETE", "/shares", NO_METHOD),
    Wrong("PUT", "/shares/sales", NO_METHOD),
    Wrong("PATCH", "/shares/sales/schemas", NO_METHOD),
    Wrong("DELETE", "/shares/sales/schemas/eu/tables", NO_METHOD),
    Wrong("POST", "/shares/sales/all-tables", NO_METHOD),
    Wrong("DELETE", T, NO_METHOD),
    Wrong("POST", f"{T}/version", NO_METHOD),
    Wrong("POST", f"{T}/metadata", NO_METHOD),
    Wrong("GET", QUERY, NO_METHOD, "POST"),
    Wrong("PUT", QUERY, NO_METHOD),
    Wrong("OPTIONS", QUERY, NO_METHOD),
    # names
    get("/shares/nothing", MISSING, "nothing"),
    get("/shares/secret", MISSING, "secret"),
    get("/shares/secret/schemas", MISSING),
    get("/shares/secret/all-tables", MISSING),
    get("/shares/secret/schemas/eu/tables", MISSING),
    get("/shares/secret/schemas/eu/tables/orders", MISSING),
    get("/shares/secret/schemas/eu/tables/orders/version", MISSING),
    get("/shares/secret/schemas/eu/tables/orders/metadata", MISSING),
    Wrong("POST", "/shares/secret/schemas/eu/tables/orders/query", MISSING, body={}),
    get("/shares/nothing/schemas", MISSING),
    get("/shares/nothing/all-tables", MISSING),
    get("/shares/sales/schemas/nothing/tables", MISSING),
    get("/shares/sales/schemas/nothing/tables/orders", MISSING),
    get("/shares/sales/schemas/eu/tables/nothing", MISSING),
    get("/shares/sales/schemas/eu/tables/nothing/version", MISSING),
    get("/shares/sales/schemas/eu/tables/nothing/metadata", MISSING),
    get("/shares/sales/schemas/us/tables/orders/metadata", MISSING),
    get("/shares/%00", MISSING),
    get("/shares/sales%20", MISSING),
    get("/shares/" + "x" * 300, MISSING),
    get("/shares/sales';--/schemas", MISSING),
    Wrong("HEAD", "/shares/sales/schemas/eu/tables/nothing", MISSING),
    # tokens and addresses
    get("/shares", NO_TOKEN, "Authorization", Authorization=""),
    get("/shares", NO_TOKEN, Authorization="Bearer"),
    get("/shares", NO_TOKEN, Authorization="Bearer wrong"),
    get("/shares", NO_TOKEN, Authorization="Bearer two words"),
    get("/shares", NO_TOKEN, Authorization="Basic dXNlcjpwYXNz"),
    get("/shares", NO_TOKEN, Authorization="Bearer " + "x" * 5000),
    get(f"{T}/metadata", NO_TOKEN, Authorization="Bearer wrong"),
    Wrong("POST", QUERY, NO_TOKEN, body={}, headers={"Authorization": "Bearer wrong"}),
    # listing parameters
    *(
        get(f"/shares?maxResults={value}", BAD, "maxResults")
        for value in ("-1", "501", "x", "1.5", "", "1e2")
    ),
    get("/shares/sales/schemas?maxResults=9999999999999999999999", BAD, "maxResults"),
    get("/shares?pageToken=nonsense", BAD, "pageToken"),
    get("/shares?pageToken=", BAD, "pageToken is empty"),
    get("/shares/sales/schemas?pageToken=AAAA", BAD, "pageToken"),
    get("/shares/sales/all-tables?pageToken=%FF", BAD, "pageToken"),
    get("/shares/sales/schemas/eu/tables?pageToken=" + "A" * 4000, BAD, "pageToken"),
    # version and metadata parameters
    get(f"{T}/version?startingTimestamp=yesterday", BAD, "startingTimestamp"),
    get(f"{T}/version?startingTimestamp=", BAD, "startingTimestamp is empty"),
    get(f"{T}/metadata?timestamp=", BAD, "timestamp is empty"),
    query({"timestamp": ""}, BAD, "timestamp is empty"),
    query({"pageToken": ""}, BAD, "pageToken is empty"),
    query({"refreshToken": ""}, BAD, "refreshToken is empty"),
    get(f"{T}/version?startingTimestamp=2022-01-01T00:00:00", BAD, "offset"),
    get(f"{T}/version?startingTimestamp=2200-01-01T00:00:00Z", BAD),
    get(
        "/shares/sales/schemas/eu/tables/plain/version?startingTimestamp=2022-01-01T00:00:00Z",
        UNSUPPORTED,
    ),
    get(f"{T}/metadata?version=-1", BAD, "version"),
    get(f"{T}/metadata?version=1&timestamp=2200-01-01T00:00:00Z", BAD, "only one of"),
    get(f"{T}/metadata?version=99", BAD, "99"),
    get("/shares/sales/schemas/eu/tables/plain/metadata?version=1", UNSUPPORTED, "history"),
    get(f"{T}/metadata", UNSUPPORTED, "orc", delta_sharing_capabilities="responseformat=orc"),
    get(f"{T}/metadata", BAD, "fileidhash", fileidhash="md5"),
    # bodies
    raw(b"{", MALFORMED, "not JSON"),
    raw(b"[]", MALFORMED, "JSON object"),
    raw(b"null", MALFORMED),
    raw(b'"text"', MALFORMED),
    raw(b"\xff\xfe", MALFORMED),
    raw(b"{'version': 1}", MALFORMED),
    raw(b'{"version": 1,}', MALFORMED),
    raw(b" " * 3_000_000, TOO_LARGE),
    query({"version": -1}, BAD, "version"),
    query({"version": "one"}, BAD, "version"),
    query({"version": 1.5}, BAD, "version"),
    query({"version": True}, BAD, "version"),
    query({"version": 99}, BAD, "99"),
    query({"version": 2**63}, BAD, "version"),
    query({"version": 1, "timestamp": "2022-01-01T00:00:00Z"}, BAD, "only one of"),
    query({"version": 1, "startingVersion": 1}, BAD, "only one of"),
    query({"startingVersion": 0}, UNSUPPORTED, "history", table="plain"),
    query({"timestamp": "yesterday"}, BAD, "timestamp"),
    query({"timestamp": 5}, BAD, "timestamp"),
    query({"timestamp": "1999-01-01T00:00:00Z"}, BAD),
    query({"limitHint": "many"}, BAD, "limitHint"),
    query({"predicateHints": "x = 1"}, BAD, "predicateHints"),
    query({"predicateHints": [1]}, BAD, "predicateHints"),
    query({"jsonPredicateHints": {}}, BAD, "jsonPredicateHints"),
    query({"version": 0}, UNSUPPORTED, "history", table="plain"),
    query({"timestamp": "2022-01-01T00:00:00Z"}, UNSUPPORTED, "history", table="plain"),
    query({"version": 1}, BAD, "first shared version", table="recent"),
    # tables that cannot be served
    query({}, UNSUPPORTED, "readerfeatures=deletionvectors", table="vectors"),
    get("/shares/sales/schemas/eu/tables/vectors/metadata", UNSUPPORTED, "deletionVectors"),
    query({}, UNSUPPORTED, "columnMapping", table="mapped"),
    query({}, UNREADABLE, table="future"),
    query({}, UNREADABLE, table="corrupt"),
    get("/shares/sales/schemas/eu/tables/corrupt/version", UNREADABLE),
    get("/shares/sales/schemas/eu/tables/corrupt/metadata", UNREADABLE),
    query({}, MISSING, table="gone"),
    query({}, LATER, "provider", table="nowhere"),
    query({}, UNSUPPORTED, "temporary credentials", table="directory"),
    query({}, UNSUPPORTED, "partition filter", table="misfiltered"),
]


def test_the_table_of_wrong_requests_is_long() -> None:
    assert len(CASES) >= 80
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_request(case: Wrong, client: httpx.Client) -> None:
    answer = client.request(
        case.method, case.path, json=case.body, content=case.raw, headers=case.headers
    )
    status, code = case.expected
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    if status == 401:
        sent = case.headers.get("Authorization", "").removeprefix("Bearer").strip()
        presented = sent and not sent.startswith("Basic")
        challenge = 'Bearer error="invalid_token"' if presented else "Bearer"
        assert answer.headers["www-authenticate"] == challenge
    if status == 405:
        assert "GET" in answer.headers["allow"] or answer.headers["allow"] == "POST"
    if status == 503:
        assert int(answer.headers["retry-after"]) > 0
    if case.method != "HEAD":
        error = answer.json()
        assert error.keys() == {"errorCode", "message"}
        assert error["errorCode"] == code
        assert case.says in error["message"]


def test_a_request_without_a_token_gets_instructions_to_send_one(gateway: RunningGateway) -> None:
    answer = httpx.get(f"{gateway.endpoint}/shares")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Bearer" in answer.json()["message"]


def test_a_page_token_of_another_recipient_is_refused(
    gateway: RunningGateway, client: httpx.Client, rival_token: str
) -> None:
    path = "/shares/sales/schemas"
    token = client.get(path, params={"maxResults": 1}).json()["nextPageToken"]
    assert client.get(path, params={"pageToken": token}).status_code == 200
    others = httpx.get(
        gateway.endpoint + path,
        params={"pageToken": token},
        headers={"Authorization": f"Bearer {rival_token}"},
    )
    assert others.status_code == 400
    assert client.get("/shares/sales/all-tables", params={"pageToken": token}).status_code == 400


def test_a_recipient_without_the_property_of_a_partition_filter_is_forbidden(
    gateway: RunningGateway, rival_token: str
) -> None:
    answer = httpx.post(
        f"{gateway.endpoint}/shares/sales/schemas/eu/tables/mine/query",
        json={},
        headers={"Authorization": f"Bearer {rival_token}"},
    )
    assert (answer.status_code, answer.json()["errorCode"]) == FORBIDDEN
    assert "'country'" in answer.json()["message"]


def test_a_recipient_from_a_foreign_address_is_forbidden(
    gateway: RunningGateway, far_token: str
) -> None:
    answer = httpx.get(f"{gateway.endpoint}/shares", headers={"Authorization": f"Bearer {far_token}"})
    assert (answer.status_code, answer.json()["errorCode"]) == FORBIDDEN


def test_what_is_no_http_is_refused_in_json_too(gateway: RunningGateway) -> None:
    (answer,) = send_raw(gateway.address, b"\x16\x03\x01 this is no HTTP\r\n\r\n")
    assert answer.status == 400
    assert answer.is_error
    assert b"connection: close" in answer.head


def test_no_wrong_request_leaves_a_traceback_or_a_token_in_the_log(
    gateway: RunningGateway, client: httpx.Client, token: str
) -> None:
    for case in CASES:
        client.request(case.method, case.path, json=case.body, content=case.raw, headers=case.headers)
    assert "Traceback" not in gateway.log
    assert token not in gateway.log
    assert "X-Amz-Signature=" not in gateway.log
