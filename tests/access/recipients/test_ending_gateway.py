"""A gateway warns of profiles that end soon when it is ready, and not again after a restart."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from support.process.installed import installed_site

from sluicegate.access.recipients.service import Recipients
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_secret

PLUGIN = """
from sluicegate.api import hookimpl

EVENTS = []

@hookimpl
def sluicegate_on_event(event):
    EVENTS.append(event)
"""
_TURNS = 500


@pytest.mark.parametrize(("warn_before", "reported"), [("14d", ["acme"]), ("5d", []), (0, [])])
async def test_each_profile_is_reported_once_by_a_ready_gateway(
    tmp_path: Path, warn_before: str | int, reported: list[str]
) -> None:
    settings = Settings.model_validate(
        {
            "plugins": ["heard"],
            "database": f"sqlite:///{tmp_path}/gateway.db",
            "recipients": {"warn_before": warn_before},
        }
    )
    with installed_site(tmp_path) as site:
        site.install("heard", PLUGIN)
        for _ in range(2):
            async with Gateway.running(settings) as gateway:
                service = Recipients(gateway.parts.store, token_lifetime=10 * 86_400, rotation_grace=0)
                if not await service.list():
                    keep_secret((await service.create("acme")).secret)
                gateway.explanations()  # commands do not warn
                events = sys.modules["plugin_heard"].EVENTS
                assert [event.principal.name for event in events] in ([], reported)
                await gateway.warm_up()
                for _ in range(_TURNS if reported else 5):
                    if events:
                        break
                    await asyncio.sleep(0.01)
                assert [event.principal.name for event in events] == reported
