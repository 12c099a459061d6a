"""Tasks in the console: listed, followed without and with JavaScript, cancelled and retried."""

from __future__ import annotations

import pytest
from console.conftest import Site
from support.servers.delegation import payload

from sluicegate.config import Settings
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.schedules.firings import Firings

HOSTILE = "<img src=x onerror=alert(1)>"


async def submit(site: Site, table: str = "orders") -> TaskRecord:
    """A task that waits for a worker."""
    queue = TaskQueue(site.gateway.parts.store, PayloadCipher.of(site.gateway.parts.settings))
    return await queue.submit(payload(table), "polaris")


async def test_tasks_are_listed_by_filter_and_in_pages(site: Site) -> None:
    made = [await submit(site, f"t{number}") for number in range(53)]
    browser = await site.logged_in("viewer")
    found: list[str] = []
    page = await browser.open("/console/tasks")
    for _ in range(5):
        found += [link.rpartition("/")[2] for link in page.links if "/console/tasks/" in link]
        following = page.document.xpath("//a[@rel='next']/@href")
        if not following:
            break
        page = await browser.open(following[0])
    assert sorted(found) == sorted(each.id for each in made)
    assert len(found) == 53
    page = await browser.open("/console/tasks")
    page = await browser.submit("Show", status="FAILURE")
    assert "There are no such tasks" in page.text
    assert (await browser.open("/console/tasks?status=DONE")).status == 400


async def test_schedules_are_shown_with_their_firings(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = {"cron": "30 2 * * *", "operation": "TABLE_COMPACTION", "catalog": "lake"}
    section = {"schedules": {"nightly": {**nightly, "tables": ["sales.*"]}}}
    assert site.gateway.admin is not None
    schedules = site.gateway.admin.schedules
    monkeypatch.setattr(schedules, "_settings", Settings.model_validate({"delegation": section}))
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/tasks")
    assert page.document.xpath("//table[caption='Schedules']//td/text()")[-1] == "never"
    await schedules.run("nightly", "ada")
    firings = Firings(site.gateway.parts.store)
    claimed = await firings.claim()
    assert claimed is not None
    await firings.end(claimed, "FAILED", HOSTILE)
    await schedules.pause("nightly", HOSTILE)
    page = await browser.open("/console/tasks")
    shown = page.document.xpath("string(//table[caption='Schedules']/tbody)")
    assert f"paused by {HOSTILE}" in shown
    assert f"FAILED: {HOSTILE}" in " ".join(shown.split())
    assert not page.document.xpath("//img")
    filtered = await browser.open("/console/tasks?schedule=nightly")
    assert not filtered.document.xpath("//table[caption='Schedules']")
    assert "There are no such tasks" in filtered.text


async def test_a_task_is_cancelled_and_retried_after_a_confirmation(site: Site) -> None:
    task = await submit(site)
    browser = await site.logged_in("admin")
    page = await browser.open(f"/console/tasks/{task.id}")
    assert "SUBMITTED" in page.text
    page = await browser.open(f"/console/tasks/{task.id}/cancel")
    assert page.heading == "Cancel the task?"
    page = await browser.submit("Cancel the task")
    assert "Done: The task is cancelled." in page.text
    assert "TASK_CANCELLED" in page.text
    again = await browser.open(f"/console/tasks/{task.id}/cancel")
    again = await browser.submit("Cancel the task")
    assert (again.status, again.heading) == (409, "Not possible now")
    await browser.open(f"/console/tasks/{task.id}/retry")
    page = await browser.submit("Retry the task")
    assert page.document.xpath("//*[@id='live']/@data-state") == ["SUBMITTED"]


async def test_the_page_follows_a_task_until_it_ends(site: Site) -> None:
    task = await submit(site)
    browser = await site.logged_in("viewer")
    page = await browser.open(f"/console/tasks/{task.id}")
    assert page.document.xpath("//noscript/meta/@http-equiv") == ["refresh"]
    (script,) = page.document.xpath("//script")
    assert not script.text
    served = await browser.send("GET", script.get("src"))
    assert (served.status, served.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert "connect-src 'self'" in page.answer.headers["content-security-policy"]
    part = await browser.send("GET", f"/console/tasks/{task.id}/state")
    assert b'data-ended="no"' in part.body
    assert b"<html" not in part.body
    stopped = await browser.open(f"/console/tasks/{task.id}?follow=no")
    assert not stopped.document.xpath("//script | //meta[@http-equiv]")
    queue = TaskQueue(site.gateway.parts.store, PayloadCipher.of(site.gateway.parts.settings))
    await queue.cancel(task.id)
    ended = await browser.open(f"/console/tasks/{task.id}")
    assert not ended.document.xpath("//script | //meta[@http-equiv]")
    part = await browser.send("GET", f"/console/tasks/{task.id}/state")
    assert b'data-ended="yes"' in part.body


async def test_texts_of_tasks_are_only_text(site: Site) -> None:
    task = await submit(site, HOSTILE)
    browser = await site.logged_in("viewer")
    for path in ("", f"/{task.id}", f"/{task.id}/state"):
        page = await browser.open(f"/console/tasks{path}")
        assert (page.status, "<img" in page.source) == (200, False)
        assert "onerror" in page.document.text_content()


@pytest.mark.parametrize("action", ["cancel", "retry"])
async def test_viewers_and_administrators_of_some_shares_change_no_task(
    site: Site, action: str
) -> None:
    task = await submit(site)
    viewer = await site.logged_in("viewer")
    page = await viewer.open(f"/console/tasks/{task.id}")
    assert not any("/cancel" in link for link in page.links)
    assert (await viewer.open(f"/console/tasks/{task.id}/{action}")).status == 403
    limited = await site.logged_in("admin", "sales")
    assert not any(link.endswith("/console/tasks") for link in limited.page.links)
    for path in ("", f"/{task.id}", f"/{task.id}/state", f"/{task.id}/{action}"):
        assert (await limited.open(f"/console/tasks{path}")).status == 403
    admin = await site.logged_in("admin")
    unprotected = await admin.post(f"/console/tasks/{task.id}/{action}", {"form_token": "0" * 86})
    assert unprotected.status == 403


async def test_unknown_tasks_are_not_found(site: Site) -> None:
    browser = await site.logged_in("viewer")
    assert (await browser.open("/console/tasks/none")).status == 404
    assert (await browser.open("/console/static/0/live.js")).status == 404
