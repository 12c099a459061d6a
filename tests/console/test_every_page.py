"""What holds for every page and form: who can use it, what it contains, what it does with any input."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from console.browser import ORIGIN, Browser, Page
from console.conftest import HOSTILE, Site
from starlette.routing import Route
from support.process.random_cases import times

from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.admin.console.endpoint import ConsoleRoute, PageEndpoint
from sluicegate.admin.identity import ROLES, Role
from sluicegate.admin.recipient_access import NewCredential
from sluicegate_testing.secrets import keep_secret

NAMES = {
    "share": "sales",
    "schema": "eu",
    "kind": "table",
    "name": "orders",
    "recipient": "acme",
    "credential": "none",
    "task": "none",
    "chain": "1",
    "seq": "1",
    "rest": "nothing",
}
POLICY = {
    "default-src 'none'",
    "connect-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "script-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
}
CONVERTER = re.compile(r":\w+(?=\})")
# Pages that all administrators can use, because they contain only what each of them manages.
FOR_EVERYONE = {
    "",
    "/shares",
    "/recipients",
    "/new-recipient",
    "/share-table",
    "/share-table/options",
    "/usage",
    "/audit",
    "/audit/{chain:int}/{seq:int}",
    "/audit/records.ndjson",
}
# Characters that end a value, hide something, or have a meaning in URLs, HTML, SQL and templates.
NASTY = [
    *"<>\"'&%;\\/?#\x07\u202e\u2028\ufeff",
    "{{7*7}}",
    "{% raw %}",
    "' OR 1=1 --",
    "../..",
    "😀",
    HOSTILE,
]
# Those that end what they are written into, and so differ most from the others, for each change.
NASTIEST = {"%", "/", "\u2028", "{{7*7}}", HOSTILE}


def console_routes(site: Site) -> list[ConsoleRoute]:
    found: list[ConsoleRoute] = []
    for route in site.gateway.routes():
        if isinstance(route, Route) and isinstance(route.endpoint, PageEndpoint):
            found += route.endpoint.routes.values()
    return sorted(found, key=lambda route: route.path.endswith("/delete"))


def target(route: ConsoleRoute) -> str:
    return "/console" + CONVERTER.sub("", route.path).format_map(NAMES)


async def token(browser: Browser) -> str:
    """The token of a form for the session of a browser."""
    page = await browser.open("/console")
    return str(dict(page.form("Log out").form_values())["form_token"])


async def test_every_page_needs_a_login(site: Site) -> None:
    browser = site.browser()
    served = console_routes(site)
    assert len(served) > 20
    for route in served:
        answer = await browser.send(route.method, target(route), b"")
        if route.method == "GET":
            location = f"/console/login?{urlencode({'next': target(route)})}"
            assert (answer.status, answer.headers["location"]) == (303, location), route.path
        else:
            assert answer.status == 403, route.path


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_can_use_its_pages_and_no_others(site: Site, role: Role) -> None:
    browser = await site.logged_in(role)
    field = {"form_token": await token(browser)}
    for route in console_routes(site):
        answer = await browser.send(route.method, target(route), urlencode(field).encode())
        if ROLES.index(role) < ROLES.index(route.role):
            assert answer.status == 403, route.path
            assert f"requires the role {route.role}" in answer.body.decode(), route.path
        else:
            assert answer.status in {200, 303, 400, 404, 412}, (route.path, answer.body)


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_an_administrator_of_other_shares_sees_and_changes_nothing(
    site: Site, role: Role
) -> None:
    browser = await site.logged_in(role, "returns")
    field = {"form_token": await token(browser), "share": "sales", "recipient": "acme"}
    for route in console_routes(site):
        answer = await browser.send(route.method, target(route), urlencode(field).encode())
        text = answer.body.decode()
        if route.path == "/{rest:path}":
            assert answer.status == 404
        elif route.path in FOR_EVERYONE and route.method == "GET" and route.role != "admin":
            assert (answer.status, "sales" in text, "acme" in text) == (200, False, False), route.path
        elif route.path in FOR_EVERYONE and route.method == "GET":
            assert ("sales" in text) is False, route.path
        else:
            assert answer.status in {400, 403}, (route.path, text)
    assert (await (await site.logged_in()).open("/console/recipients/acme")).status == 200


@pytest.mark.parametrize(
    "role",
    [
        "viewer",
        pytest.param("admin", marks=pytest.mark.night("test_pages_offer_nothing_that_is_then_refused")),
        pytest.param("owner", marks=pytest.mark.night("test_every_page_is_inert_and_complete")),
    ],
)
async def test_pages_offer_nothing_that_is_then_refused(site: Site, role: Role) -> None:
    browser = await site.logged_in(role)
    for page in await crawl(browser):
        assert page.status == 200, page.address
        if role == "viewer":
            others = [form for form in page.forms() if form.method == "POST"]
            assert [form.get("action") for form in others] == ["/console/logout"], page.address


async def test_every_page_is_inert_and_complete(site: Site) -> None:
    secrets = await plant_secrets(site)
    browser = await site.logged_in()
    secrets += [*browser.cookies.values(), await site.token("owner")]
    pages = await crawl(browser)
    pages += [await browser.open(each) for each in ("/console/nothing", "/console/recipients/nobody2")]
    pages.append(await site.browser().open("/console/login"))
    assert len(pages) > 30
    assert any("hostile" in page.text for page in pages)
    for page in pages:
        check_page(page)
        assert page.status == 200 or page in pages[-3:-1], page.address
        for secret in secrets:
            assert secret not in page.source, page.address


async def plant_secrets(site: Site) -> list[str]:
    """Credentials and a link, which no page shows."""
    access, owner = site.admin.recipient_access, await site.owner()
    made: list[str] = []
    for recipient, kind in (("acme", "bearer"), ("both", "oauth")):
        wanted = NewCredential.model_validate({"deliver": "profile", "kind": kind})
        issued = await access.issue(owner, recipient, wanted)
        assert isinstance(issued, IssuedCredential)
        keep_secret(issued.secret)
        made.append(issued.secret)
    link = await access.issue(owner, "acme", NewCredential())
    return [*made, link.token, "k" * 32]  # type: ignore[union-attr]


def check_page(page: Page) -> None:
    """Check what is true of each page."""
    document, headers = page.document, page.answer.headers
    assert set(headers["content-security-policy"].split("; ")) == POLICY
    assert headers["cache-control"] == "private, no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert not document.xpath("//style | //iframe | //object | //base | //img")
    for script in document.xpath("//script"):
        assert script.get("src").startswith("/console/static/"), page.address
        assert not script.text, page.address
    for plot in document.xpath("//svg"):
        assert (plot.get("role"), bool(plot.get("aria-labelledby"))) == ("img", True), page.address
    assert not document.xpath("//@style | //@*[starts-with(name(), 'on')]")
    assert not document.xpath("//main//b | //main//i | //main//u | //main//s | //main//em")
    assert all(address.startswith(("/console", "#")) for address in document.xpath("//a/@href")), (
        page.address
    )
    assert not any(character in page.source for character in "\u202e\u2028\u200b\x07\ufeff")
    # Accessibility, as far as it can be checked without a browser.
    assert document.get("lang") == "en"
    assert len(document.xpath("//h1")) == len(document.xpath("//main")) == 1
    assert document.xpath("//title")[0].text_content().strip().endswith("· Sluicegate console")
    assert document.xpath("//a[@href='#content']")
    ids = document.xpath("//@id")
    assert len(ids) == len(set(ids)), page.address
    for field in document.xpath("//input[not(@type='hidden')] | //select | //textarea"):
        assert document.xpath(f"//label[@for='{field.get('id')}']"), (page.address, field.get("name"))
    for reference in document.xpath("//@aria-labelledby | //@aria-describedby"):
        assert {*reference.split()} <= {*ids}, page.address
    for table in document.xpath("//table"):
        assert table.xpath("./caption"), page.address
        assert all(cell.get("scope") for cell in table.xpath(".//th")), page.address
    for form in page.forms():
        if form.method == "POST":
            assert form.fields.get("form_token"), page.address


async def crawl(browser: Browser) -> list[Page]:
    """All pages that links lead to."""
    waiting, seen, pages = [f"{ORIGIN}/console"], set[str](), list[Page]()
    while waiting:
        address = waiting.pop().partition("#")[0]
        if address in seen:
            continue
        seen.add(address)
        pages.append(await browser.open(address.removeprefix(ORIGIN)))
        waiting += [each for each in pages[-1].links if ".ndjson" not in each]
    return pages


def inputs(number: int, seed: int) -> Iterator[tuple[dict[str, str], bytes]]:
    """Fields of forms and their encodings, some of them malformed."""
    rng = random.Random(seed)
    names = ["name", "share", "recipient", "comment", "token_lifetime", "allow_from", "properties"]
    names += ["kind", "grace", "revision", "next", "form_token", "other"]
    names += ["step", "catalog", "table", "schema", "access_modes", "start_version", "history"]
    names += ["partition_filter", "recipients", "new_recipient", "confirmed"]
    values = [
        *NASTY,
        "",
        "x" * 300,
        "0",
        "-1",
        "90d",
        "9" * 40,
        "sales",
        "acme",
        "raw",
        "apply",
        "review",
        "a: b",
        "203.0.113.0/24",
    ]
    for _ in range(number):
        fields = {
            rng.choice(names): "".join(rng.choices(values, k=rng.randint(1, 3))) for _ in range(4)
        }
        yield fields, rng.choice([b"", b"", b"&%zz=%00", b"&\xff\xfe", b"&name=%ff", b"&" * 3000])


@pytest.mark.parametrize("seed", range(times()))
async def test_no_input_of_a_form_is_an_internal_error(site: Site, seed: int) -> None:
    browser = await site.logged_in()
    valid = await token(browser)
    posts = [each for each in console_routes(site) if each.method == "POST"]
    for fields, more in inputs(60, seed):
        route = random.Random(str(fields)).choice(posts)
        body = urlencode({"form_token": valid} | fields).encode() + more
        answer = await browser.send("POST", target(route), body)
        assert answer.status < 500, (route.path, fields, more, answer.body)
        if answer.status != 303:
            check_page(Page(f"{ORIGIN}{target(route)}", answer))


@pytest.mark.parametrize(
    "nasty",
    [
        pytest.param(
            each,
            marks=()
            if each in NASTIEST
            else pytest.mark.night("test_no_name_or_parameter_is_an_internal_error"),
        )
        for each in NASTY
    ],
)
async def test_no_name_or_parameter_is_an_internal_error(site: Site, nasty: str) -> None:
    browser = await site.logged_in()
    gets = [each for each in console_routes(site) if each.method == "GET"]
    for route in gets:
        path = "/console" + CONVERTER.sub("", route.path).format_map(
            dict.fromkeys(NAMES, quote(nasty, safe=""))
        )
        query = urlencode(dict.fromkeys(("filter", "page", "state", "recipient", "next"), nasty))
        others = ("catalog", "schema", "table", "after", "share", "action", "before", "realm")
        for more in ("", f"&{urlencode(dict.fromkeys(others, nasty))}"):
            answer = await browser.send("GET", f"{path}?{query}{more}")
            assert answer.status < 500, (route.path, answer.body)
        if answer.status != 303 and answer.headers["content-type"].startswith("text/html"):
            check_page(Page(f"{ORIGIN}{path}", answer))


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/console/shares", b"", 405),
        ("DELETE", "/console/recipients/acme", b"", 405),
        ("POST", "/console/shares", b"form_token=x", 405),
        ("POST", "/console/new-recipient", b"x" * 70_000, 413),
        ("GET", "/console/static/0123456789abcdef/style.css", b"", 404),
        ("GET", "/console/recipients/a%2Fb", b"", 404),
        ("HEAD", "/console/recipients", b"", 200),
    ],
)
async def test_errors_are_pages(site: Site, method: str, path: str, body: bytes, status: int) -> None:
    browser = await site.logged_in()
    browser.headers = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
    answer = await browser.send(method, path, body)
    assert answer.status == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    if status == 405:
        assert answer.headers["allow"]


async def test_the_style_sheet_is_kept_by_browsers(site: Site) -> None:
    browser = site.browser()
    page = await browser.open("/console/login")
    (address,) = page.document.xpath("//link[@rel='stylesheet']/@href")
    answer = await browser.send("GET", address)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert b"prefers-color-scheme: dark" in answer.body
    assert b"prefers-reduced-motion" in answer.body


async def test_pages_work_behind_a_proxy_that_adds_a_path(site: Site) -> None:
    from sluicegate.admin.console.rendering import Addresses

    addresses = Addresses("https://share.example/gateway")
    assert addresses.of("recipients", "a/b?", page=2) == "/gateway/console/recipients/a%2Fb%3F?page=2"
    assert addresses.is_own("/gateway/console/shares")
    assert not addresses.is_own("/console/shares")
