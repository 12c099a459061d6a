"""Recipients in the console: created, changed, revoked and deleted, as by the Admin API."""

from __future__ import annotations

import re

from console.conftest import Site
from support.clients.asgi import ask

LINK = re.compile(r"https://share\.example(/activate\?token=slga_[0-9a-f]{48})")


async def test_a_recipient_is_created_and_gets_a_link_that_is_shown_once(site: Site) -> None:
    browser = await site.logged_in("admin")
    await browser.open("/console/new-recipient")
    page = await browser.submit("Create the recipient", name="new", share="sales", comment="A <b>")
    assert page.heading == "new"
    assert "Done: The recipient 'new' was created" in page.text
    assert "A <b>" in page.text
    page = await browser.submit("Create an activation link", kind="oauth", grace="0s")
    (path,) = set(LINK.findall(page.source))
    assert page.heading == "Activation link for new"
    page = await browser.open("/console/recipients/new")
    assert LINK.search(page.source) is None
    assert "The newest link is pending until" in page.text
    answer = await ask(site.app, path, method="POST")
    assert answer.json["clientId"]
    page = await browser.open("/console/recipients/new")
    assert answer.json["clientId"] in page.text
    assert answer.json["clientSecret"] not in page.source
    assert "The newest link is used since" in page.text


async def test_a_form_that_is_sent_twice_does_not_replace_the_first_link(site: Site) -> None:
    browser = await site.logged_in()
    page = await browser.open("/console/recipients/acme")
    first = await browser.submit("Create an activation link")
    (path,) = set(LINK.findall(first.source))
    browser.shown = page
    refused = await browser.submit("Create an activation link")
    assert (refused.status, refused.heading) == (412, "Changed in the meantime")
    assert (await ask(site.app, path, method="POST")).status == 200


async def test_a_link_is_withdrawn(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme")
    created = await browser.submit("Create an activation link")
    await browser.open("/console/recipients/acme")
    page = await browser.submit("Withdraw the link")
    assert "The newest link is withdrawn" in page.text
    (path,) = set(LINK.findall(created.source))
    assert (await ask(site.app, path, method="POST")).status == 410


async def test_access_is_revoked_after_a_confirmation_and_restored(site: Site) -> None:
    browser = await site.logged_in()
    page = await browser.open("/console/recipients/acme/revoke")
    assert page.heading == "Revoke all access of 'acme'?"
    page = await browser.submit("Revoke all access")
    assert "All access was revoked, with 0 valid credentials." in page.text
    assert "State revoked since" in page.text
    await browser.open("/console/recipients/acme/restore")
    page = await browser.submit("Restore access")
    assert "State active" in page.text


async def test_one_credential_is_revoked(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme")
    created = await browser.submit("Create an activation link")
    (path,) = set(LINK.findall(created.source))
    await ask(site.app, path, method="POST")
    page = await browser.open("/console/recipients/acme")
    (revoke,) = [each for each in page.links if "/credentials/" in each]
    await browser.open(revoke.removeprefix("https://share.example"))
    page = await browser.submit("Revoke the credential")
    assert "was revoked" in page.text
    assert not [each for each in page.links if "/credentials/" in each]


async def test_a_recipient_is_changed(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/edit")
    page = await browser.submit(
        "Save",
        comment="One\r\ntwo",
        token_lifetime="12h",
        allow_from="203.0.113.0/24\r\n2001:db8::/32",
        properties="country: DE\r\n\r\nlevel: a: b",
    )
    assert "Networks 203.0.113.0/24, 2001:db8::/32" in page.text
    assert "country : DE; level : a: b" in page.text
    page = await browser.open("/console/recipients/acme/edit")
    (form,) = page.document.xpath("//main//form")
    assert dict(form.form_values())["properties"].strip() == "country: DE\nlevel: a: b"
    page = await browser.submit("Save", comment="", allow_from="", properties="", token_lifetime="")
    assert "Networks all Properties none" in page.text


async def test_a_concurrent_change_is_refused(site: Site) -> None:
    one, other = await site.logged_in(), await site.logged_in()
    await one.open("/console/recipients/acme/edit")
    await other.open("/console/recipients/acme/edit")
    await one.submit("Save", comment="first")
    page = await other.submit("Save", comment="second")
    assert (page.status, page.heading) == (412, "Changed in the meantime")
    page = await other.open("/console/recipients/acme")
    assert "Comment first" in page.text


async def test_invalid_input_is_explained_and_changes_nothing(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/edit")
    page = await browser.submit("Save", allow_from="203.0.113.1/24")
    assert (page.status, page.heading) == (400, "The input is not valid")
    assert "expected a network like 203.0.113.0/24" in page.text


async def test_grants_are_added_and_ended(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme")
    page = await browser.submit("Grant", share="returns")
    assert "End the grant of returns" in page.text
    await browser.open("/console/recipients/acme/grants/sales/end")
    page = await browser.submit("End the grant")
    assert "End the grant of sales" not in page.text
    assert "End the grant of returns" in page.text


async def test_a_recipient_is_deleted(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/delete")
    page = await browser.submit("Delete the recipient")
    assert (page.heading, "Done: The recipient 'acme' was deleted" in page.text) == ("Recipients", True)
    page = await browser.open("/console/recipients/acme")
    assert (page.status, page.heading) == (404, "Not found")


async def test_recipients_are_searched(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients")
    page = await browser.submit("Search", filter="BOTH")
    assert "1 recipient that matches" in page.text
    page = await browser.submit("Search", filter="returns", state="revoked")
    assert "No recipients found." in page.text
