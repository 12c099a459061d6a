"""The route of links: what it verifies, which storage it opens, and for whom a request counts."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from support.clients.asgi import Answer, ask

from sluicegate.api.errors import SluicegateError
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.http.responses import error_response
from sluicegate.protocols.file_links.links import ContentLinks
from sluicegate.protocols.file_links.routes import content_routes
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import MemoryStorage

KEY, OLD = bytes(range(32)), bytes(32)
ISSUED = 1_700_000_000
PATH = "eu/day=1/part 0#1.parquet"
CONTENT = b"0123456789"


@pytest.fixture
async def app() -> Starlette:
    """An application that serves one file of the storage `lake`, ten seconds after links are issued."""
    storage = MemoryStorage()
    await storage.put(f"memory://lake/{PATH}", CONTENT)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, SluicegateError)
        return error_response(error)

    return Starlette(
        routes=content_routes({"lake": storage}.get, KeyRing((KEY, OLD)), lambda: ISSUED + 10),
        exception_handlers={SluicegateError: refused},
    )


def link(path: str = PATH, *, storage: str = "lake", key: bytes = KEY, expires_in: int = 60) -> str:
    """Path and query of a link."""
    links = ContentLinks(key, "https://gateway.example", storage, lambda: ISSUED)
    (url,) = links.sign([path], expires_in).urls
    split = urlsplit(url)
    return f"{split.path}?{split.query}"


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["errorCode"]


@pytest.mark.parametrize("key", [KEY, OLD])
async def test_a_link_of_each_valid_key_is_served(app: Starlette, key: bytes) -> None:
    answer = await ask(app, link(key=key))
    assert (answer.status, answer.body) == (200, CONTENT)


async def test_ranges_and_head_are_served(app: Starlette) -> None:
    part = await ask(app, link(), {"range": "bytes=2-4"})
    head = await ask(app, link(), method="HEAD")
    assert (part.status, part.body) == (206, b"234")
    assert (head.status, head.headers["content-length"]) == (200, "10")


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "OPTIONS"])
async def test_a_link_reads_and_nothing_else(app: Starlette, method: str) -> None:
    assert (await ask(app, link(), method=method)).status == 405


@pytest.mark.parametrize(
    "target",
    [
        link(key=b"\1" * 32),
        link().partition("?")[0],
        link() + "&X-Amz-Extra=1",
        link().replace("/lake/", "/other/"),
        link().replace("day=1", "day=2"),
        link().replace("Expires=60", "Expires=61"),
    ],
)
async def test_a_link_that_was_not_signed_so_is_refused(app: Starlette, target: str) -> None:
    assert refusal(await ask(app, target)) == (403, "PERMISSION_DENIED")


@pytest.mark.parametrize(("lifetime", "status"), [(10, 403), (11, 200)])
async def test_a_link_ends_with_its_lifetime(app: Starlette, lifetime: int, status: int) -> None:
    assert (await ask(app, link(expires_in=lifetime))).status == status


@pytest.mark.parametrize("target", [link(storage="retired"), link(""), link("eu/gone.parquet")])
async def test_what_is_not_there_is_not_found(app: Starlette, target: str) -> None:
    answer = await ask(app, target)
    assert refusal(answer) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert b"retired" not in answer.body


async def test_the_root_of_a_storage_is_no_file(app: Starlette) -> None:
    answer = await ask(app, link(""))
    assert answer.json["message"] == "the storage of this link is no longer served"


async def test_a_request_is_verified_before_it_waits_for_a_slot(app: Starlette) -> None:
    limit = ConcurrencyLimit(ConcurrencyLimits(max_requests=1, queue_timeout=0))
    limited = ConcurrencyLimitMiddleware(app, limit)
    assert (await ask(limited, link())).status == 200
    assert limit.enter_now("other")  # the request has released its slot
    assert refusal(await ask(limited, link())) == (503, "TEMPORARILY_UNAVAILABLE")
    assert refusal(await ask(limited, link(key=b"\1" * 32))) == (403, "PERMISSION_DENIED")
