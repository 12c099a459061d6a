"""A table is shared in steps: chosen, named, granted, reviewed, and only then shared."""

from __future__ import annotations

from typing import Any

import pytest
from console.browser import Browser, Page
from console.conftest import Site

from sluicegate.access.shares_file.export import StoredShares
from sluicegate.api.assets.models import AssetKind
from sluicegate.api.catalogs import Catalog
from sluicegate.api.errors import NotFound, Unavailable
from sluicegate.api.models import CatalogTable, ListedTable, TablePage

HOSTILE = "<script>alert('x')</script>"
STEPS = "/console/share-table/options"


class Shelf(Catalog):
    """A catalog with pages of two tables, a hostile name, and a schema that fails."""

    requests = 0

    async def list_schemas(self) -> list[str]:
        return ["broken", "eu", HOSTILE]

    async def list_tables(self, schema: str) -> list[str]:
        return [f"t{number}" for number in range(230)] + [f"a b/{HOSTILE}"]

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        self.requests += 1
        if schema == "broken":
            raise Unavailable("the catalog does not respond", detail="secret.internal")
        start, names = int(token or 0), await self.list_tables(schema)
        more = str(start + 20) if start + 20 < len(names) else None
        return TablePage([ListedTable(name) for name in names[start : start + 20]], more)

    def identifier(self, schema: str, table: str) -> str:
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        if identifier == "eu.t1":
            raise NotFound("there is no table eu.t1")
        return CatalogTable("id", "delta", "memory://lake/orders")

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[Any]:
        return []


@pytest.fixture
def shelf(site: Site, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    made = Shelf()
    monkeypatch.setitem(site.gateway.parts.instances.catalogs, "raw", made)
    return made


async def stored(site: Site) -> StoredShares:
    assert site.gateway.admin is not None
    return await site.gateway.admin.editor.stored(await site.owner())


async def exported(site: Site) -> dict[str, Any]:
    return (await stored(site)).export(recipients=True)


async def to_options(browser: Browser, table: str = "eu.t7", name: str = "t7", **more: str) -> Page:
    """The step with the options, filled in."""
    query = "".join(f"&{key}={value}" for key, value in more.items())
    return await browser.open(f"{STEPS}?catalog=raw&table={table}&name={name}{query}")


def problems(page: Page) -> str:
    """The texts of alerts."""
    return " ".join(each.text_content() for each in page.document.xpath("//*[@role='alert']"))


@pytest.mark.usefixtures("shelf")
async def test_a_table_is_shared_with_a_new_recipient(site: Site) -> None:
    browser = await site.logged_in("admin")
    page = await browser.open("/console/share-table")
    assert "raw" in page.text
    page = await browser.open("/console/share-table?catalog=raw")
    page = await browser.open("/console/share-table?catalog=raw&schema=eu")
    (choice,) = [each for each in page.links if each.endswith("table=eu.t7&name=t7")]
    page = await browser.open(choice.removeprefix("https://share.example"))
    assert page.document.xpath("//input[@id='name']/@value") == ["t7"]
    page = await browser.submit(
        "Continue to the recipients", share="sales", schema="eu", history="yes", comment="Seventh"
    )
    page = await browser.submit(
        "Show the changes",
        recipients="both",
        new_recipient="newcomer",
        allow_from="203.0.113.0/24",
        properties="country: DE\nteam: a:b",
        token_lifetime="60d",
    )
    assert "newcomer" not in (await exported(site))["recipients"]
    changes = [
        each.text_content() for each in page.document.xpath("//ol[@class='changes']/li/strong/..")
    ]
    titles = [" ".join(each.split()[:4]) for each in changes]
    assert titles == [
        "Add table sales.eu.t7 table:",
        "Add recipient newcomer token_lifetime:",
        "Add grant of sales",
    ]
    assert "+ table sales.eu.t7" in page.text
    assert "is not in the file" not in page.text  # it is not about other shares and recipients
    page = await browser.submit("Make these changes")
    assert page.heading == "The table is shared"
    (link,) = page.document.xpath("//code[@class='secret']/text()")
    assert link.startswith("https://share.example/")
    content = await exported(site)
    assert content["shares"]["sales"]["schemas"]["eu"]["tables"]["t7"] == {
        "catalog": "raw",
        "table": "eu.t7",
        "comment": "Seventh",
        "history": True,
    }
    assert "orders" in content["shares"]["sales"]["schemas"]["eu"]["tables"]
    assert content["recipients"]["newcomer"] == {
        "shares": ["sales"],
        "allow_from": ["203.0.113.0/24"],
        "properties": {"country": "DE", "team": "a:b"},
        "token_lifetime": "60d",
    }


@pytest.mark.usefixtures("shelf")
async def test_a_new_share_and_schema_are_created_and_granted(site: Site) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="new", schema="fresh")
    page = await browser.submit("Show the changes", recipients="nobody")
    for title in ("share new", "schema new.fresh", "table new.fresh.t7", "grant of new to nobody"):
        assert f"Add {title}" in page.text
    await browser.submit("Make these changes")
    content = await exported(site)
    assert content["recipients"]["nobody"] == {"shares": ["new"]}
    assert [*content["shares"]["new"]["schemas"]["fresh"]["tables"]] == ["t7"]


@pytest.mark.usefixtures("shelf")
async def test_only_the_changes_that_were_shown_are_made(site: Site) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="other", schema="eu")
    page = await browser.submit("Show the changes")
    assert "Add share other" in page.text
    await site.apply({"shares": {"other": {"comment": "of somebody else"}}})
    page = await browser.submit("Make these changes")
    assert "Nothing was changed" in problems(page)
    assert ("Add share other" in page.text, "Add table other.eu.t7" in page.text) == (False, True)
    assert "schemas" not in (await exported(site))["shares"]["other"]
    page = await browser.submit("Make these changes")
    assert page.heading == "The table is shared"
    share = (await exported(site))["shares"]["other"]
    assert (share["comment"], [*share["schemas"]]) == ("of somebody else", ["eu"])


@pytest.mark.usefixtures("shelf")
async def test_changes_of_the_fields_after_the_review_are_not_made(site: Site) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="sales", schema="eu")
    page = await browser.submit("Show the changes")
    form = dict(page.form("Make these changes").form_values())
    answer = await browser.post(STEPS, form | {"step": "apply", "name": "other_name"})
    assert b"Nothing was changed" in answer.body
    assert "other_name" not in str(await exported(site))


@pytest.mark.usefixtures("shelf")
async def test_going_back_keeps_what_was_entered(site: Site) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="sales", schema="eu", history="yes")
    await browser.submit("Show the changes", new_recipient="newcomer", properties="a: b")
    page = await browser.submit("Back to the recipients")
    assert page.document.xpath("//input[@id='new_recipient']/@value") == ["newcomer"]
    assert page.document.xpath("//textarea[@id='properties']")[0].value.strip() == "a: b"
    page = await browser.submit("Back to the options")
    assert page.document.xpath("//input[@id='history']/@checked") == ["checked"]
    page = await browser.submit("Continue to the recipients")
    page = await browser.submit("Show the changes")
    assert "Add recipient newcomer" in page.text
    assert "Add table sales.eu.t7" in page.text


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"share": "a b"}, "share", "A share's name cannot contain a space."),
        ({"share": ""}, "share", "A share's name cannot be empty."),
        ({"name": "a.b"}, "name", "A table's name cannot contain a period."),
        ({"start_version": "-1"}, "start_version", "0"),
        ({"partition_filter": "country ="}, "partition_filter", ""),
        ({"change_feed": "yes"}, None, "Change_feed needs history"),
        ({"name": "ORDERS"}, None, "There is a table sales.eu.orders already"),
    ],
)
async def test_wrong_options_are_explained_at_their_fields(
    site: Site, fields: dict[str, str], field: str | None, message: str
) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    page = await browser.submit(
        "Continue to the recipients", **{"share": "sales", "schema": "eu"} | fields
    )
    if page.status == 200:
        page = await browser.submit("Show the changes")
    assert page.status == 400
    assert message.casefold() in problems(page).casefold()
    if field is not None:
        (text,) = page.document.xpath(f"//p[@id='{field}-problem']")
        (entered,) = page.document.xpath(f"//input[@id='{field}']")
        assert message in text.text_content()
        assert (entered.get("aria-invalid"), entered.value or "") == ("true", fields[field])
        assert f"{field}-problem" in entered.get("aria-describedby")


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"new_recipient": "a b"}, "a recipient's name cannot contain a space"),
        ({"new_recipient": "acme"}, "there is a recipient 'acme' already"),
        ({"new_recipient": "x", "allow_from": "1.2.3.4/8"}, "expected a network"),
        ({"new_recipient": "x", "properties": "country"}, "is not a line such as"),
        ({"new_recipient": "x", "token_lifetime": "10y"}, "token_lifetime"),
        ({"allow_from": "10.0.0.0/8"}, "only for a new recipient"),
    ],
)
async def test_wrong_recipients_are_explained(site: Site, fields: dict[str, str], message: str) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="sales", schema="eu")
    page = await browser.submit("Show the changes", **fields)
    assert (page.status, message in page.source.replace("&#39;", "'").casefold()) == (400, True)
    assert "t7" not in str(await exported(site))


async def test_a_catalog_that_does_not_respond_is_a_message(site: Site, shelf: Shelf) -> None:
    browser = await site.logged_in("admin")
    page = await browser.open("/console/share-table?catalog=raw&schema=broken")
    assert "The catalog does not respond." in problems(page)
    assert "secret" not in page.source
    page = await browser.submit("Continue", table="eu.t3")
    assert "eu.t3" in page.text
    assert (await browser.open("/console/share-table?catalog=row")).status == 404


async def test_tables_are_searched_over_all_pages_of_the_catalog(site: Site, shelf: Shelf) -> None:
    browser = await site.logged_in("admin")
    found: list[str] = []
    page = await browser.open("/console/share-table?catalog=raw&schema=eu")
    for _ in range(5):
        found += [each.text_content() for each in page.document.xpath("//ul[@class='names']//a")]
        following = page.document.xpath("//a[@rel='next']/@href")
        if not following:
            break
        page = await browser.open(following[0])
    assert sorted(found) == sorted(await shelf.list_tables("eu"))
    page = await browser.open("/console/share-table?catalog=raw&schema=eu&filter=T22")
    names = [each.text_content() for each in page.document.xpath("//ul[@class='names']//a")]
    assert names == ["t22", *(f"t22{number}" for number in range(10))]
    forged = await browser.open("/console/share-table?catalog=raw&schema=eu&after=abc")
    assert (forged.status, "After is not valid" in problems(forged)) == (400, True)


@pytest.mark.usefixtures("shelf")
async def test_a_table_that_cannot_be_read_is_a_warning(site: Site) -> None:
    browser = await site.logged_in("admin")
    await to_options(browser, "eu.t1")
    await browser.submit("Continue to the recipients", share="sales", schema="eu")
    page = await browser.submit("Show the changes")
    assert "Warning: recipients cannot read the table now. There is no table eu.t1." in page.text
    assert (await browser.submit("Make these changes")).heading == "The table is shared"


@pytest.mark.usefixtures("shelf")
async def test_hostile_names_are_only_text(site: Site) -> None:
    browser = await site.logged_in("owner")
    for path in (
        "/console/share-table?catalog=raw",
        "/console/share-table?catalog=raw&schema=eu&filter=a%20b",
    ):
        page = await browser.open(path)
        assert "alert('x')" in page.text
        assert "<script>" not in page.source
    (choice,) = page.document.xpath("//ul[@class='names']//a/@href")
    page = await browser.open(choice)
    assert "<script>" not in page.source
    await browser.submit("Continue to the recipients", share="sales", schema="eu", comment=HOSTILE)
    page = await browser.submit("Show the changes")
    assert page.status == 200
    assert ("alert('x')" in page.text, "<script>" in page.source) == (True, False)
    assert not page.document.xpath("//@style | //script")


@pytest.mark.usefixtures("shelf")
async def test_viewers_and_administrators_of_other_shares_cannot_share(site: Site) -> None:
    viewer = await site.logged_in("viewer")
    assert not any("share-table" in link for link in viewer.page.links)
    for path in ("/console/share-table", STEPS):
        assert (await viewer.open(path)).status == 403
    limited = await site.logged_in("admin", "returns")
    page = await to_options(limited)
    assert [each.get("value") for each in page.document.xpath("//datalist[@id='shares']/option")] == [
        "returns"
    ]
    page = await limited.submit("Continue to the recipients", share="sales", schema="eu")
    assert page.status == 403
    await to_options(limited)
    page = await limited.submit("Continue to the recipients", share="returns", schema="eu")
    # The recipient with another share belongs to other administrators.
    assert "both" not in page.text
    assert "acme" not in page.text
    form = dict(page.form("Show the changes").form_values())
    answer = await limited.post(STEPS, form | {"step": "review", "recipients": "both"})
    assert (answer.status, b"there is no recipient" in answer.body.lower()) == (400, True)
    await to_options(limited)
    await limited.submit("Continue to the recipients", share="returns", schema="eu")
    await limited.submit("Show the changes", new_recipient="mine")
    assert (await limited.submit("Make these changes")).heading == "The table is shared"


@pytest.mark.usefixtures("shelf")
async def test_the_form_needs_its_token(site: Site) -> None:
    browser = await site.logged_in("owner")
    await to_options(browser)
    await browser.submit("Continue to the recipients", share="sales", schema="eu")
    page = await browser.submit("Show the changes")
    form = dict(page.form("Make these changes").form_values()) | {"step": "apply"}
    other = await site.logged_in("owner")
    answer = await other.post(STEPS, form)
    assert answer.status == 403
    assert "t7" not in str(await exported(site))
