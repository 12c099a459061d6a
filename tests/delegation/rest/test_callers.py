"""Who is let in: the service's own tokens, an issuer's, a client's certificate."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.servers.delegation import (
    API,
    FOREIGN_SECRET,
    GRANTED,
    SECRET,
    Desk,
    Waiting,
    base_of,
    body,
    running_service,
)
from support.servers.issuer import AUDIENCE, running_issuer

from sluicegate.delegation.queue.tasks import TaskFilter
from sluicegate.http.serving import Tls, address_of, bind, serve_app
from sluicegate_testing.servers._certificate import make_certificate

CLAIMS: dict[str, tuple[dict[str, Any], int]] = {
    "a token for a client, with the scope": ({}, 200),
    "among other scopes": ({"scope": "catalog execute_tasks"}, 200),
    "scopes in a list": ({"scope": None, "scp": ["execute_tasks"]}, 200),
    "without the scope": ({"scope": "catalog"}, 403),
    "with scopes of another form": ({"scope": 7}, 403),
    "of nobody known": ({"sub": "client-8"}, 403),
    "for another audience": ({"aud": "elsewhere"}, 401),
    "expired": ({"exp": 1_000_000_000}, 401),
    "of another issuer": ({"iss": "http://127.0.0.1:1"}, 401),
}


async def test_tokens_of_an_issuer(desk: Desk) -> None:
    with running_issuer() as issuer:
        entry = {"issuer": issuer.address, "audience": AUDIENCE}
        async with running_service(desk, Waiting(), with_worker=False, issuers=[entry]) as service:
            for name, (changed, status) in CLAIMS.items():
                claims = {"sub": "client-7", "scope": "execute_tasks", **changed}
                service.http.headers["Authorization"] = f"Bearer {issuer.token(**claims)}"
                assert (await service.get("")).status_code == status, name


@pytest.mark.parametrize("header", ["Bearer slg_abc", "Basic cG9sYXJpcw==", "Bearer", "Bearer a.b.c"])
async def test_what_is_no_token(desk: Desk, header: str) -> None:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        service.http.headers["Authorization"] = header
        answer = await service.get("")
    assert (answer.status_code, answer.json()["error_code"]) == (401, "UNAUTHENTICATED")


async def test_a_wrong_secret_gets_no_token(desk: Desk) -> None:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        del service.http.headers["Authorization"]
        for client, secret in (("polaris", "another"), ("nobody", SECRET), ("polaris", " ")):
            form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
            answer = await service.http.post(f"{API}/v1/oauth/tokens", data=form)
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("realm", ["default-realm", "stage"])
async def test_a_client_without_realms_acts_for_the_configured_one_alone(
    desk: Desk, realm: str
) -> None:
    clients = {"polaris": {"secret": SECRET}, "other": {"secret": FOREIGN_SECRET, "realms": ["prod"]}}
    realms = dict.fromkeys(("default-realm", "stage", "prod"), GRANTED)
    asked = {"clients": clients, "realms": realms, "realm": realm}
    async with running_service(desk, Waiting(), with_worker=False, **asked) as service:
        statuses = {
            each: (await service.post("", body(table=each, realm=each))).status_code for each in realms
        }
    assert statuses == {each: 202 if each == realm else 403 for each in realms}


async def test_a_client_certificate_is_an_identity(desk: Desk, tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    clients = {"staging": {"certificates": ["CN=localhost"], "realms": ["prod"]}}
    tls = Tls(str(files.certificate), str(files.key), str(files.authority))
    listener, stop = bind("127.0.0.1", 0), asyncio.Event()
    ready = asyncio.Event()
    trusted = ssl.create_default_context(cafile=str(files.authority))
    known = ssl.create_default_context(cafile=str(files.authority))
    known.load_cert_chain(files.certificate, files.key)
    url = f"{address_of(listener, secure=True)}{API}/v1/tasks"
    async with base_of(desk, Waiting(), clients=clients).app() as app:
        serving = asyncio.create_task(
            serve_app(
                app,
                listener,
                shutdown_grace_period=5,
                tls=tls.context(),
                on_ready=lambda _: ready.set(),
                stop=stop,
            )
        )
        await ready.wait()
        async with httpx.AsyncClient(verify=known) as client:
            accepted = await client.post(url, json=body())
            foreign = await client.post(url, json=body(realm="stage"))
        async with httpx.AsyncClient(verify=trusted) as client:
            with pytest.raises(httpx.HTTPError):
                await client.post(url, json=body())
        stop.set()
        await serving
    listener.close()
    assert (accepted.status_code, foreign.status_code) == (202, 403)
    assert [task.submitted_by for task in await desk.queue.find(TaskFilter())] == ["staging"]
