"""Recipients of the reference server read on after an import, with the profile that they have."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pyarrow as pa
import pytest
from ruamel.yaml import YAML
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway, running_gateway, sluicegate
from support.gateways.s3_lake import storage_of, write_table
from support.tables.rows import assert_same_rows

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.ports import free_port
from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"id": pa.array(range(40), pa.int64()), "city": ["Köln", "a b"] * 20})
TABLE_ID = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"


@dataclass(frozen=True)
class Imported:
    """The gateway, the profile of the old server, and what the import printed."""

    gateway: RunningGateway
    profile: Path
    token: str
    printed: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    folder, port, token = tmp_path_factory.mktemp("imported"), free_port(), secrets.token_hex(32)
    keep_secret(token)
    profile = folder / "old.share"
    endpoint = f"http://127.0.0.1:{port}/delta-sharing"
    profile.write_text(
        json.dumps({"shareCredentialsVersion": 1, "endpoint": endpoint, "bearerToken": token})
    )
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as server:
        write_table(server, "orders", ROWS)
        source = folder / "delta-sharing-server.yaml"
        source.write_text(
            f"""
version: 1
shares:
- name: "share1"
  schemas:
  - name: "schema1"
    tables:
    - name: "Orders"
      location: "s3a://{server.bucket}//orders/"
      id: "{TABLE_ID}"
host: "localhost"
port: {port}
endpoint: "/delta-sharing"
authorization: {{bearerToken: "{token}"}}
"""
        )
        source.chmod(0o600)
        printed = sluicegate(folder, "import", source.name)
        configuration = folder / "gateway.yaml"
        settings = YAML(typ="safe", pure=True).load(configuration)
        assert [section["prefix"] for section in settings["storage"]] == [f"s3://{server.bucket}/"]
        settings["storage"] = [storage_of(server)]
        configuration.write_bytes(orjson.dumps(settings))
        printed += sluicegate(folder, "import", source.name, "--apply")
        with running_gateway(folder, port=port) as gateway:
            yield Imported(gateway, profile, token, printed)


def test_the_old_profile_reads_the_same_rows(imported: Imported) -> None:
    recipient = Recipient(imported.profile, "share1", "schema1")
    assert_same_rows(ROWS, recipient.read("Orders"))


def test_the_ids_of_tables_stay(imported: Imported) -> None:
    answer = httpx.get(
        f"{imported.gateway.endpoint}/shares/share1/schemas/schema1/tables",
        headers={"Authorization": f"Bearer {imported.token}"},
    )
    assert [(item["name"], item["id"]) for item in answer.json()["items"]] == [("Orders", TABLE_ID)]


def test_the_token_is_neither_printed_nor_logged_nor_stored(imported: Imported) -> None:
    assert "the token of recipient 'delta-sharing' was imported" in imported.printed
    stored = (imported.gateway.folder / "sluicegate.db").read_bytes()
    written = (imported.gateway.folder / "shares.yaml").read_text()
    assert imported.token not in imported.printed + imported.gateway.log + written
    assert imported.token.encode() not in stored


def test_other_tokens_are_refused(imported: Imported) -> None:
    for token in (imported.token[:-1], f"{imported.token}x", imported.token.upper()):
        answer = httpx.get(
            f"{imported.gateway.endpoint}/shares", headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 401
        assert token not in answer.text
