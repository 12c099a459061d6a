"""Servers that send the gateway elsewhere: to a host inside, or to one that collects credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store
from pydantic import SecretStr
from support.gateways.gateway import running_gateway, write_configuration
from support.gateways.shared_lake import asking
from support.servers.redirects import INTERNAL, STATUSES, Elsewhere, elsewhere, redirecting

from sluicegate.access.authentication.oidc.fetch import FetchFailed, JsonFetcher
from sluicegate.api import (
    AccessTokens,
    HttpClient,
    HttpRequest,
    OAuth2Client,
    Unavailable,
    client_options,
    retry_config,
)
from sluicegate_testing.servers._certificate import CertificateFiles, make_certificate

if TYPE_CHECKING:
    from obstore.store import ClientConfig, GCSCredential

_SECRET = "c2VjcmV0LWtleQ=="


@pytest.fixture
def inside() -> Iterator[Elsewhere]:
    with elsewhere() as there:
        yield there


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.mark.parametrize("status", STATUSES)
async def test_clients_of_catalogs_and_issuers_follow_no_redirect(
    inside: Elsewhere, status: int
) -> None:
    http, fetcher = HttpClient(timeout=5, connections=2, longest=1000), JsonFetcher()
    with redirecting(status, inside.uri) as uri:
        for method in ("GET", "POST"):
            answer = await http.send(HttpRequest(method, uri, {"Authorization": "Bearer t"}))
            assert answer.status == status
        with pytest.raises(Unavailable):
            await tokens_of(http, uri).get()
        with pytest.raises(FetchFailed, match=f"status {status}"):
            await fetcher.get(uri)
    await http.aclose()
    await fetcher.aclose()
    assert inside.asked == []


def tokens_of(http: HttpClient, uri: str) -> AccessTokens:
    client = OAuth2Client(client_id="gate", client_secret=SecretStr(_SECRET))

    async def grant() -> HttpRequest:
        return await client.grant(f"{uri}/token")

    return AccessTokens(http, grant, "the server", margin=60)


def s3(uri: str, options: ClientConfig) -> ObjectStore:
    return S3Store(
        "bucket",
        endpoint=uri,
        region="eu-west-1",
        access_key_id="AKID",
        secret_access_key=_SECRET,
        client_options=options,
        retry_config=retry_config(),
    )


def azure(uri: str, options: ClientConfig) -> ObjectStore:
    return AzureStore(
        "container",
        account_name="account",
        account_key=_SECRET,
        endpoint=uri,
        client_options=options,
        retry_config=retry_config(),
    )


def gcs(uri: str, options: ClientConfig) -> ObjectStore:
    credential: GCSCredential = {"token": _SECRET, "expires_at": None}
    return GCSStore(
        "bucket",
        base_url=uri,
        credential_provider=lambda: credential,
        client_options=options,
        retry_config=retry_config(),
    )


Make = Callable[[str, "ClientConfig"], ObjectStore]


@pytest.mark.parametrize("make", [s3, azure, gcs])
@pytest.mark.parametrize("status", STATUSES)
def test_a_store_at_https_sends_nobody_to_plain_http(
    inside: Elsewhere, certificate: CertificateFiles, make: Make, status: int
) -> None:
    with redirecting(status, inside.uri, certificate) as uri:
        trusted: ClientConfig = {"root_certificate": certificate.authority.read_bytes()}
        store = make(uri, {**client_options(uri), **trusted})
        with pytest.raises(BaseError, match="redirect"):
            obstore.get(store, "key")
    assert inside.asked == []


@pytest.mark.parametrize("make", [s3, azure, gcs])
@pytest.mark.parametrize("status", STATUSES)
def test_no_key_and_no_token_follows_a_redirect_to_another_server(
    inside: Elsewhere, make: Make, status: int
) -> None:
    with redirecting(status, inside.uri) as uri:
        obstore.get(make(uri, client_options(uri)), "key")
    (headers,) = inside.asked
    assert "Authorization" not in headers
    assert _SECRET not in str(headers)


def test_what_a_host_inside_answers_does_not_reach_recipients(
    inside: Elsewhere, tmp_path: Path
) -> None:
    with redirecting(307, inside.uri) as uri:
        storage = {
            "type": "s3",
            "prefix": "s3://lake/",
            "endpoint": uri,
            "region": "eu-west-1",
            "access_key_id": "AKID",
            "secret_access_key": _SECRET,
        }
        tables = {"t": {"catalog": "raw", "table": "s3://lake/t"}}
        write_configuration(
            tmp_path,
            {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage]},
            {
                "shares": {"lake": {"schemas": {"s": {"tables": tables}}}},
                "recipients": {"acme": {"shares": ["lake"]}},
            },
        )
        with running_gateway(tmp_path) as gateway, asking(gateway.profile("acme")) as client:
            answer = client.post("/shares/lake/schemas/s/tables/t/query", json={})
            assert inside.asked
            assert answer.status_code == 503
            assert INTERNAL.decode() not in answer.text
            assert inside.uri not in answer.text
