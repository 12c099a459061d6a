"""What is shared, as a tree, and the page of a table with all that is known about it."""

from __future__ import annotations

from console.conftest import Site
from support.clients.asgi import Request, exchange

from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.admin.recipient_access import NewCredential
from sluicegate_testing.secrets import keep_secret

ORDERS = "/console/shares/sales/schemas/eu/table/orders"


async def test_the_overview_counts_what_an_administrator_manages(site: Site) -> None:
    browser = await site.logged_in("viewer")
    assert "Shares 3 Schemas 3 Tables 4 Other assets 1 Recipients 4 Grants 5" in browser.page.text
    browser = await site.logged_in("viewer", "returns")
    assert "Shares 1 Schemas 1 Tables 0 Other assets 0 Recipients 0 Grants 1" in browser.page.text


async def test_the_overview_lists_profiles_that_end_soon(site: Site) -> None:
    browser = await site.logged_in("admin")
    assert "None ends within 14d." in browser.page.text
    await _issue(site, "acme", token_lifetime=86_400)
    page = await browser.open("/console")
    assert "whose last valid credential ends within 14d" in page.text
    assert "https://share.example/console/recipients/acme" in page.links


async def test_the_overview_lists_requests_that_were_refused(site: Site) -> None:
    for number in range(15):
        await exchange(site.app, Request("GET", f"/delta-sharing/shares/refused-{number}/schemas"))
    browser = await site.logged_in("admin")
    (table,) = browser.page.document.xpath("//table[caption='The newest requests that were refused']")
    resources = [each.text_content() for each in table.xpath(".//tbody/tr/td[3]")]
    assert resources == [f"refused-{number}" for number in range(14, 4, -1)]
    assert {each.text_content() for each in table.xpath(".//tbody/tr/td[4]")} == {"authentication"}
    page = await browser.open(table.xpath(".//tbody//a/@href")[0])
    assert "refused-14" in page.text
    page = await browser.open("/console")
    assert "https://share.example/console/audit?outcome=refused" in page.links


async def test_administrators_see_refused_requests_only_of_their_shares_and_role(site: Site) -> None:
    for share in ("sales", "returns"):
        await exchange(site.app, Request("GET", f"/delta-sharing/shares/{share}/schemas"))
    browser = await site.logged_in("admin", "returns")
    (table,) = browser.page.document.xpath("//table[caption='The newest requests that were refused']")
    assert [each.text_content() for each in table.xpath(".//tbody/tr/td[3]")] == ["returns"]
    browser = await site.logged_in("viewer")
    assert "refused" not in browser.page.text.lower()


async def test_the_tree_shows_shares_with_their_recipients_and_content(site: Site) -> None:
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/shares")
    assert "sales (1 schema, 4 declared tables and other assets, 2 recipients)" in page.text
    assert "Recipients: acme, both" in page.text
    assert f"https://share.example{ORDERS}" in page.links


async def test_the_tree_is_filtered(site: Site) -> None:
    browser = await site.logged_in("viewer")
    await browser.open("/console/shares")
    page = await browser.submit("Search", filter="ORDERS")
    assert "1 share with a matching name inside." in page.text
    assert "filtered" not in page.text
    page = await browser.submit("Search", filter="nothing")
    assert "No shares found." in page.text


async def test_a_long_share_has_several_pages(site: Site) -> None:
    tables = {f"t{n:04}": {"catalog": "raw", "table": f"file:///srv/t{n}"} for n in range(450)}
    await site.apply({"shares": {"long": {"schemas": {"a": {"tables": tables}}}}})
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/shares/long")
    assert "Page 1 of 3 (450 in total) Next page" in page.text
    (following,) = [each for each in page.links if "page=2" in each]
    page = await browser.open(following.removeprefix("https://share.example"))
    assert ("t0200" in page.text, "t0199" in page.text, "t0400" in page.text) == (True, False, False)
    page = await browser.open("/console/shares/long?page=99&filter=t04")
    assert ("t0449" in page.text, "Page" in page.text) == (True, False)


async def test_the_tree_continues_on_the_page_of_a_long_share(site: Site) -> None:
    tables = {f"t{n:02}": {"catalog": "raw", "table": f"file:///srv/t{n}"} for n in range(45)}
    await site.apply({"shares": {"long": {"schemas": {"a": {"tables": tables}, "b": {}}}}})
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/shares?filter=long")
    assert "long (2 schemas, 45 declared tables and other assets, 0 recipients)" in page.text
    assert ("t29" in page.text, "t30" in page.text) == (True, False)
    assert "16 more in long" in page.text
    page = await browser.open("/console/shares/long?filter=long")
    assert ("t44" in page.text, "The schema is empty." in page.text) == (True, True)


async def test_a_table_is_described(site: Site) -> None:
    browser = await site.logged_in("viewer")
    page = await browser.open(ORDERS)
    for text in (
        "Version 0, committed",
        "Files 3 (30 bytes)",
        "Partitioned by country",
        "id long no",
        "array<struct<sku: string, tags: map<string, integer>>>",
    ):
        assert text in page.text, text


async def test_a_table_is_shown_as_a_recipient_sees_it(site: Site) -> None:
    browser = await site.logged_in("admin")
    await browser.open("/console/shares/sales/schemas/eu/table/filtered")
    page = await browser.submit("Show", recipient="acme")
    assert "acme cannot read it now." in page.text
    assert "no credential was issued; rotate the recipient" in page.text.lower()
    await _issue(site, "acme")
    page = await browser.submit("Show", recipient="acme")
    assert "acme can read it now. It gets 1 file (10 bytes)." in page.text
    assert "Delta Sharing, presigned URLs open Version 0" in page.text
    assert "Delta Sharing, temporary credentials closed" in page.text
    assert "partition_filter allowed Country = 'DE'." in page.text
    await _issue(site, "both")
    page = await browser.submit("Show", recipient="both")
    assert "both cannot read it now." in page.text
    assert "the recipient has no property 'country'" in page.text
    page = await browser.open(ORDERS)
    assert "acme allowed url" in page.text


async def test_the_last_reads_are_those_of_the_ledger(site: Site) -> None:
    browser = await site.logged_in("viewer")
    assert "Nothing was issued for it yet" in (await browser.open(ORDERS)).text


async def test_the_page_of_a_table_that_is_gone_shows_the_rest(site: Site) -> None:
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/shares/sales/schemas/eu/table/gone")
    assert page.status == 200
    assert "The table cannot be read now." in page.text
    assert "Name for recipients sales.eu.gone" in page.text
    assert "Who can read it" in page.text


async def test_other_assets_have_a_page(site: Site) -> None:
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/shares/sales/schemas/eu/volume/files")
    assert "Shared volume" in page.text
    assert "Content now" not in page.text


async def test_a_share_is_granted_on_its_page(site: Site) -> None:
    browser = await site.logged_in("admin")
    await browser.open("/console/shares/returns")
    page = await browser.submit("Grant the share", recipient="acme")
    assert "Done: The share was granted to 'acme'." in page.text
    assert "acme both" in page.text.replace("\n", " ")
    page = await browser.submit("Grant the share", recipient="unknown")
    assert page.status == 404


async def test_an_administrator_of_some_shares_grants_them_to_recipients_that_it_knows(
    site: Site,
) -> None:
    browser = await site.logged_in("admin", "returns", "sales")
    await browser.open("/console/shares/sales")
    page = await browser.submit("Grant the share", recipient="both")
    assert "Done: The share was granted to 'both'." in page.text
    for name in ("nobody", "unknown"):
        await browser.open("/console/shares/returns")
        page = await browser.submit("Grant the share", recipient=name)
        assert (page.status, f"recipient '{name}'" in page.text) == (403, True)


async def test_an_administrator_of_some_shares_learns_only_names_of_other_recipients(
    site: Site,
) -> None:
    await _issue(site, "both")
    browser = await site.logged_in("admin", "sales")
    page = await browser.open(ORDERS)
    assert "both not shown" in page.text
    assert "https://share.example/console/recipients/both" not in page.links
    assert "bearer token valid until" not in page.text
    page = await browser.open(f"{ORDERS}?recipient=both")
    assert "both can read" not in page.text
    assert "both cannot read" not in page.text


async def _issue(site: Site, recipient: str, token_lifetime: int | None = None) -> None:
    """Give a recipient a token."""
    wanted = NewCredential(deliver="profile", token_lifetime=token_lifetime)
    made = await site.admin.recipient_access.issue(await site.owner(), recipient, wanted)
    assert isinstance(made, IssuedCredential)
    keep_secret(made.secret)
