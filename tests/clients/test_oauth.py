"""Recipients with OAuth profiles: the official Python client, the gateway, and an issuer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import delta_sharing
import httpx
import pyarrow as pa
import pytest
import requests
from deltalake import write_deltalake
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.servers.issuer import AUDIENCE, CLIENT, JWKS, SECRET, TOKEN, Issuer, running_issuer

LIFETIME_SECONDS = 2
OLD_KEY, NEW_KEY = "o" * 32, "n" * 32
TABLE = {"share": "sales", "schema": "eu", "table": "orders"}
Value = TypeVar("Value")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, issuer: Issuer) -> Path:
    """A configuration with one table, a recipient, and an issuer that may speak for it."""
    write_deltalake(tmp_path / "lake" / "orders", pa.table({"id": [1, 2, 3]}))
    orders = {"catalog": "raw", "table": f"file://{tmp_path}/lake/orders"}
    oidc = {"issuer": issuer.address, "audience": AUDIENCE, "recipients": {CLIENT: "acme"}}
    write_configuration(
        tmp_path,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{tmp_path}/lake/"}],
            "signing_key": OLD_KEY,
            "recipients": {"access_token_lifetime": LIFETIME_SECONDS},
            "authentication": {"oidc": [oidc]},
        },
        {
            "shares": {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}},
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    return tmp_path


@pytest.fixture
def gateway(folder: Path) -> Iterator[RunningGateway]:
    with running_gateway(folder) as running:
        yield running


def reconfigure(folder: Path, **changed: Any) -> None:
    """Change keys of `gateway.yaml`; a gateway that is started next reads them."""
    path = folder / "gateway.yaml"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def load(profile: Path) -> list[int]:
    """The table's ids, by the official client."""
    ids = delta_sharing.load_as_pandas(f"{profile}#sales.eu.orders")["id"]
    return sorted(int(each) for each in ids)


def issue(profile: Path) -> str:
    """An access token, asked for as the client does."""
    content = json.loads(profile.read_text())
    answer = httpx.post(
        content["tokenEndpoint"],
        auth=(content["clientId"], content["clientSecret"]),
        data={"grant_type": "client_credentials"},
    )
    token: str = answer.raise_for_status().json()["access_token"]
    return token


def ask(gateway: RunningGateway, token: str) -> httpx.Response:
    return httpx.get(f"{gateway.endpoint}/shares", headers={"Authorization": f"Bearer {token}"})


def wait_for(what: Callable[[], Value], until: Callable[[Value], bool]) -> Value:
    """What is told once it is as it should be, or at last."""
    for _ in range(300):
        value = what()
        if until(value):
            return value
        time.sleep(0.1)
    return value


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_the_official_client_reads_a_table_and_renews_its_token_by_itself(
    gateway: RunningGateway,
) -> None:
    profile = gateway.profile("acme", "--oauth")
    client = delta_sharing.SharingClient(str(profile))
    assert [table.name for table in client.list_all_tables()] == ["orders"]
    old = issue(profile)
    assert ask(gateway, old).status_code == 200
    assert load(profile) == [1, 2, 3]
    expired = wait_for(lambda: ask(gateway, old), lambda answer: answer.status_code != 200)
    assert expired.status_code == 401
    assert expired.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert "has expired" in expired.json()["message"]
    assert load(profile) == [1, 2, 3]
    assert [table.name for table in client.list_all_tables()] == ["orders"]


def test_a_token_is_kept_as_long_as_it_lives_long_enough(folder: Path) -> None:
    reconfigure(folder, recipients={})
    with running_gateway(folder) as gateway:
        recipient = Recipient(gateway.profile("acme", "--oauth"), "sales", "eu")
        for _ in range(3):
            assert len(recipient.read("orders")) == 3
        assert gateway.log.count("POST /oauth/token 200") == 1


def test_a_revoked_recipient_is_refused_within_a_second_and_let_in_by_a_new_profile(
    gateway: RunningGateway,
) -> None:
    profile = gateway.profile("acme", "--oauth")
    recipient = Recipient(profile, "sales", "eu")
    assert len(recipient.read("orders")) == 3
    gateway.command("recipient", "revoke", "acme")
    refused = wait_for(lambda: _status(profile), lambda status: status != 200)
    assert refused == 401
    with pytest.raises(requests.HTTPError, match="401"):
        Recipient(profile, "sales", "eu").read("orders")
    assert len(Recipient(gateway.profile("acme", "--oauth"), "sales", "eu").read("orders")) == 3


def _status(profile: Path) -> int:
    content = json.loads(profile.read_text())
    form = {"grant_type": "client_credentials", "client_id": content["clientId"]}
    form["client_secret"] = content["clientSecret"]
    return httpx.post(content["tokenEndpoint"], data=form).status_code


def test_access_tokens_and_links_outlive_the_gateways_key(folder: Path) -> None:
    reconfigure(folder, recipients={})
    with running_gateway(folder) as gateway:
        profile = gateway.profile("acme", "--oauth")
        token = issue(profile)
        link = _link(gateway, token)
    for change, status in (
        ({"signing_key": NEW_KEY, "previous_signing_keys": [OLD_KEY]}, 200),
        ({"signing_key": NEW_KEY, "previous_signing_keys": []}, 401),
    ):
        reconfigure(folder, **change)
        with running_gateway(folder) as gateway:
            assert ask(gateway, token).status_code == status
            followed = httpx.get(gateway.address + link)
            assert followed.status_code == (200 if status == 200 else 403)


def _link(gateway: RunningGateway, token: str) -> str:
    """Path and query of a link to the table's one file."""
    path = f"{gateway.endpoint}/shares/sales/schemas/eu/tables/orders/query"
    answer = httpx.post(path, json={}, headers={"Authorization": f"Bearer {token}"})
    url: str = json.loads(answer.text.splitlines()[2])["file"]["url"]
    return httpx.URL(url).raw_path.decode()


def test_the_official_client_reads_by_tokens_of_its_own_issuer(
    gateway: RunningGateway, issuer: Issuer, tmp_path: Path
) -> None:
    profile = tmp_path / "federated.share"
    profile.write_text(
        json.dumps(
            {
                "shareCredentialsVersion": 2,
                "type": "oauth_client_credentials",
                "endpoint": gateway.endpoint,
                "tokenEndpoint": issuer.address + TOKEN,
                "clientId": CLIENT,
                "clientSecret": SECRET,
            }
        )
    )
    assert load(profile) == [1, 2, 3]
    assert issuer.asked[JWKS] == 1
    issuer.add_key("second", number=1)
    del issuer.keys["first"]
    token = issuer.token("second", sub=CLIENT)
    # The new key is asked for, but not sooner than ten seconds after the last time.
    assert wait_for(lambda: ask(gateway, token).status_code, lambda status: status == 200) == 200


def test_an_issuer_that_is_down_is_503_for_its_tokens_and_nothing_for_others(
    gateway: RunningGateway, issuer: Issuer
) -> None:
    issuer.fail(JWKS)
    waiting = ask(gateway, issuer.token(sub=CLIENT))
    assert (waiting.status_code, waiting.json()["errorCode"]) == (503, "TEMPORARILY_UNAVAILABLE")
    assert int(waiting.headers["retry-after"]) > 0
    assert issuer.address not in waiting.text
    assert ask(gateway, issue(gateway.profile("acme", "--oauth"))).status_code == 200
    assert ask(gateway, issuer.token(iss="https://elsewhere.example")).status_code == 401
    assert "returned status 500" in gateway.log


def test_the_token_endpoint_answers_posts_only_and_in_json(gateway: RunningGateway) -> None:
    address = f"{gateway.address}/oauth/token"
    got = httpx.get(address)
    assert (got.status_code, got.headers["allow"]) == (405, "POST")
    large = httpx.post(address, content=b"x" * 100_000)
    assert (large.status_code, large.json()["errorCode"]) == (413, "REQUEST_TOO_LARGE")
    guess = httpx.post(address, data={"grant_type": "client_credentials"}, auth=("acme", "guess"))
    assert (guess.status_code, guess.json()["error"]) == (401, "invalid_client")


def test_no_secret_is_logged(gateway: RunningGateway, issuer: Issuer) -> None:
    profile = gateway.profile("acme", "--oauth")
    content = json.loads(profile.read_text())
    tokens = [issue(profile), issuer.token(sub=CLIENT), issuer.token(sub="nobody")]
    for token in tokens:
        ask(gateway, token)
        ask(gateway, token[:-1])
    httpx.get(f"{gateway.address}/oauth/token", params={"client_secret": content["clientSecret"]})
    assert "POST /oauth/token 200" in gateway.log
    for secret in (content["clientSecret"], *tokens, *(token[:-1] for token in tokens)):
        assert secret not in gateway.log
