"""The official client reads with the profile that a recipient downloads through an activation link."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.clients.recipient import Recipient
from support.gateways.gateway import running_gateway, write_configuration

from sluicegate_testing.secrets import keep_secret


def test_the_downloaded_profile_reads_what_is_shared(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "lake" / "orders", pa.table({"id": [1, 2, 3]}))
    orders = {"catalog": "raw", "table": f"file://{tmp_path}/lake/orders"}
    write_configuration(
        tmp_path,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{tmp_path}/lake/"}],
        },
        {
            "shares": {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}},
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    with running_gateway(tmp_path) as gateway:
        link = gateway.command("recipient", "rotate", "acme", "--activation").strip()
        keep_secret(link.partition("=")[2])
        assert link.startswith(f"{gateway.address}/activate?")
        assert httpx.get(link).json()["recipient"] == "acme"
        profile = httpx.post(link)
        keep_secret(profile.json()["bearerToken"])
        (tmp_path / "config.share").write_bytes(profile.content)
        recipient = Recipient(tmp_path / "config.share", "sales", "eu")
        assert sorted(recipient.read("orders")["id"]) == [1, 2, 3]
        assert httpx.post(link).status_code == 410
        assert gateway.logs("opened again after its use")
