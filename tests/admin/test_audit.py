"""The audit log over the Admin API."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from admin.conftest import Site
from support.audit.records import ignore, numbered

from sluicegate.audit.assembly import audit_log, chain_keys
from sluicegate.audit.sinks.database.reading import read_heads
from sluicegate.config.sections.audit import AuditSettings

_LATER = {"since": "2100-01-01T00:00:00Z"}  # without the records of these requests


async def _write(site: Site) -> None:
    gateway = site.gateway
    configured = gateway.parts.settings.model_copy(update={"audit": AuditSettings()})
    async with audit_log(configured, gateway.parts.keys, gateway.parts.store, ignore) as log:
        for number in range(5):
            await log.write(numbered(number))
        await log.write(numbered(5, share="returns", resource="returns.eu"))
        await log.write(numbered(6, share="sales.more", resource="sales.more.eu"))
        await log.write(numbered(7, share=None, resource=None, outcome="refused"))


async def _ids(site: Site, more: dict[str, str], **sender: Any) -> list[str]:
    answer = await site.ask("GET", f"/audit?{urlencode(_LATER | more)}", **sender)
    assert answer.status == 200
    return [each["request_id"] for each in answer.json["items"]]


@pytest.mark.parametrize("most_blocks", [1000, 1])
async def test_records_are_listed_in_pages_newest_first(
    site: Site, monkeypatch: pytest.MonkeyPatch, most_blocks: int
) -> None:
    await _write(site)
    monkeypatch.setattr("sluicegate.admin.resources.audit._MAX_BLOCKS", most_blocks)
    found: list[str] = []
    more: dict[str, str] = {}
    while True:
        target = f"/audit?{urlencode(_LATER | more | {'maxResults': '3', 'share': 'sales'})}"
        answer = (await site.ask("GET", target)).json
        assert len(answer["items"]) <= 3
        found += [each["request_id"] for each in answer["items"]]
        if "nextPageToken" not in answer:
            break
        more = {"pageToken": answer["nextPageToken"]}
    assert found == ["r4", "r3", "r2", "r1", "r0"]


async def test_records_are_selected(site: Site) -> None:
    await _write(site)
    assert await _ids(site, {"outcome": "refused"}) == ["r7"]
    assert await _ids(site, {"requestId": "r3"}) == ["r3"]
    assert await _ids(site, {"until": "2100-01-01T00:00:00.001Z"}) == ["r0"]


async def test_an_administrator_of_some_shares_sees_only_their_records(site: Site) -> None:
    await _write(site)
    limited: dict[str, Any] = {"role": "admin", "shares": ("sales",)}
    assert await _ids(site, {}, **limited) == ["r4", "r3", "r2", "r1", "r0"]
    assert await _ids(site, {"resource": "sales.more"}, **limited) == []
    assert (await site.ask("GET", "/audit?share=returns", **limited)).status == 403
    assert (await site.ask("GET", "/audit/head", **limited)).status == 403
    assert (await site.ask("GET", "/audit", role="viewer")).status == 403


async def test_a_page_token_is_not_valid_for_other_filters_or_administrators(site: Site) -> None:
    await _write(site)
    token = (await site.ask("GET", "/audit?maxResults=1")).json["nextPageToken"]
    query = urlencode({"maxResults": "1", "pageToken": token})
    assert (await site.ask("GET", f"/audit?{query}", role="admin")).status == 400
    assert (await site.ask("GET", f"/audit?{query}&share=sales")).status == 400


async def test_the_head_is_that_of_the_database(site: Site) -> None:
    await _write(site)
    answer = await site.ask("GET", "/audit/head")
    keys = chain_keys(site.gateway.parts.settings.audit, site.gateway.parts.keys)
    heads = await read_heads(site.gateway.parts.store, keys)
    assert heads is not None
    assert {each["chain"] for each in answer.json["chains"]} == {*heads}
    for each in answer.json["chains"]:
        head = heads[each["chain"]]
        assert int(each["head"].partition(":")[0]) <= head.last.seq
        assert each["checkpoint"] == f"0:{64 * '0'}"
    assert sum(int(each["head"].partition(":")[0]) for each in answer.json["chains"]) >= 8


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("outcome=alowed", "there is no outcome 'alowed'; did you mean 'allowed'?"),
        ("since=yesterday", "since"),
        ("recipents=x", "unknown parameter 'recipents'; did you mean 'recipient'?"),
    ],
)
async def test_invalid_filters_are_refused(site: Site, query: str, message: str) -> None:
    answer = await site.ask("GET", f"/audit?{query}")
    assert answer.status == 400
    assert message in answer.json["message"]
