"""Only a recipient that has access now can use its links."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from support.gateways.memory_grants import ACME, RIVAL, MemoryGrants, record

from sluicegate.api import PermissionDenied
from sluicegate.protocols.common.recipient_links import link_recipient


async def test_the_recipient_has_its_current_properties() -> None:
    grants = MemoryGrants()
    grants.recipients["acme"] = record(ACME, properties={"region": "n"})
    found = await link_recipient(grants, "acme", ACME.id, "192.0.2.7")
    assert (found.id, found.name, found.method) == (ACME.id, "acme", "link")
    assert (found.address, found.properties) == ("192.0.2.7", {"region": "n"})


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (None, "no longer exists"),
        (record(RIVAL, name="acme"), "no longer exists"),
        (record(ACME, revoked_at=1), "revoked"),
        (record(ACME, allow_from=(ip_network("10.0.0.0/8"),)), "may not call from this address"),
    ],
)
async def test_another_recipient_is_refused(known: Any, message: str) -> None:
    grants = MemoryGrants()
    grants.recipients = {} if known is None else {"acme": known}
    with pytest.raises(PermissionDenied, match=message):
        await link_recipient(grants, "acme", ACME.id, "192.0.2.7")
