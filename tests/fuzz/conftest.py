"""One gateway with tables of all kinds: every reader table, and those that cannot be served."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.fuzz.fuzzing import Fuzzer
from support.fuzz.iceberg_places import IcebergPlace, iceberg_place
from support.gateways.gateway import run_here, write_configuration
from support.gateways.in_process import Request, in_process_gateway
from support.gateways.reader_gateway import SCHEMA, SHARE, shared_folders, shared_tables
from support.process.random_cases import times
from support.tables.protocol_tables import settings, shares, write_tables
from support.tables.reader_tables.tables import ReaderTables

from sluicegate.access.authentication.oauth import failed_login_throttle
from sluicegate.config import Settings, load_settings


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the configuration, with everything applied."""
    folder = tmp_path_factory.mktemp("fuzz")
    lake = folder / "lake"
    readers = ReaderTables(lake / "readers")
    write_tables(lake)
    folders = shared_folders(readers)
    _write_feed(lake / "feed")
    declared = shares(lake)
    tables = shared_tables(readers) | {"feed": {"catalog": "raw", "table": f"file://{lake}/feed"}}
    declared["shares"][SHARE] = {
        "schemas": {
            SCHEMA: {
                "tables": {
                    name: {**table, "history": True, "change_feed": True}
                    for name, table in tables.items()
                }
            },
            **{name: {"from": {"catalog": "folders", "schema": name}} for name in folders},
        }
    }
    # Responses contain the locations of assets, but of nothing in the folder of the configuration.
    assets = tmp_path_factory.mktemp("assets")
    declared["shares"]["sales"]["schemas"]["EU"].update(_write_assets(assets))
    declared["recipients"]["acme"]["shares"].append(SHARE)
    configured = settings(lake)
    configured["storage"].append({"type": "file", "prefix": f"file://{assets}/"})
    configured["catalogs"]["folders"] = {"type": "paths", "schemas": folders}
    configured["database"] = f"sqlite:///{folder}/sluicegate.db"
    write_configuration(folder, configured, declared)
    return folder


@pytest.fixture(scope="session")
def token(folder: Path) -> str:
    """Of a recipient that may read all but one share."""
    return str(_profile(folder, "acme")["bearerToken"])


@pytest.fixture(scope="session")
def oauth_client(folder: Path) -> tuple[str, str]:
    """Id and secret of another recipient's client."""
    profile = _profile(folder, "rival", "--oauth")
    return profile["clientId"], profile["clientSecret"]


@pytest.fixture(scope="session")
def configured(folder: Path) -> Settings:
    """The gateway's settings."""
    return load_settings(folder / "gateway.yaml")


@pytest.fixture(scope="module", autouse=True)
def guess_without_delay() -> Iterator[None]:
    """Who guesses OAuth clients does not have to wait, but only in this folder's tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failed_login_throttle, "_DELAY_SECONDS", 0)
        yield


@pytest.fixture(scope="session")
def fuzzer(
    folder: Path, token: str, oauth_client: tuple[str, str], configured: Settings
) -> Iterator[Fuzzer]:
    """Asks the gateway in this process."""
    with in_process_gateway(configured) as gateway:
        yield Fuzzer(gateway, token, (token, oauth_client[1], *_keys(folder), str(folder)))


def _write_assets(lake: Path) -> dict[str, dict[str, Any]]:
    """Volumes, a model and skills, of which some cannot be read."""

    def at(kind: str, path: str, **options: Any) -> dict[str, Any]:
        return {"catalog": "raw", kind: f"file://{lake}/{path}", **options}

    for name in ("manuals", "churn/1", "churn/2", "sql-style", "broken"):
        (lake / name).mkdir(parents=True)
    (lake / "sql-style" / "SKILL.md").write_text("---\nname: sql-style\ndescription: SQL\n---\n")
    (lake / "broken" / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    return {
        "volumes": {"manuals": at("volume", "manuals"), "gone": at("volume", "gone")},
        "models": {"churn": at("model", "churn", aliases={"champion": 2, "lost": 9})},
        "skills": {"sql-style": at("skill", "sql-style"), "broken": at("skill", "broken")},
    }


def _write_feed(location: Path) -> None:
    """A table whose history has inserts, updates and deletes, with their change data."""
    rows = pa.table({"id": list(range(20)), "part": [f"p{number % 3}" for number in range(20)]})
    on = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(location, rows, partition_by=["part"], configuration=on)
    table = DeltaTable(location)
    for number in range(4):
        table.update({"id": "id + 100"}, predicate=f"id = {number}")
        table.delete(f"id = {number + 10}")


def _profile(folder: Path, recipient: str, *options: str) -> dict[str, str]:
    path = folder / f"{recipient}.share"
    run_here(folder, "recipient", "rotate", recipient, "--profile", str(path), *options)
    profile: dict[str, str] = json.loads(path.read_text())
    return profile


def _keys(folder: Path) -> list[str]:
    return [path.read_text().strip() for path in folder.glob("*.key")]


@pytest.fixture(scope="session")
def places(fuzzer: Fuzzer) -> list[dict[str, str]]:
    """Share, schema and table of everything that the recipient may name."""
    return [
        {"share": share, "schema": table["schema"], "table": table["name"]}
        for share in ("sales", SHARE)
        for table in fuzzer.ask("GET", f"/delta-sharing/shares/{share}/all-tables").json["items"]
    ]


@pytest.fixture(scope="session")
def asset_places() -> list[dict[str, str]]:
    """Share, schema and names of assets that the recipient may name."""
    place = {"share": "sales", "schema": "EU", "model": "churn", "version": "2", "alias": "champion"}
    return [
        {**place, "volume": "manuals", "skill": "sql-style"},
        {**place, "volume": "gone", "skill": "broken", "version": "9", "alias": "lost"},
    ]


@pytest.fixture(scope="session")
def iceberg_places(fuzzer: Fuzzer, places: list[dict[str, str]]) -> list[IcebergPlace]:
    """Tables that the recipient may name, as its Iceberg client knows them.

    At night, these are all. For each change, they are those written by hand and every fourth reader
    table.
    """
    step = 1 if times() > 1 else 4
    readers = [place for place in places if place["share"] == SHARE]
    chosen = [place for place in places if place not in readers] + readers[::step]
    return [iceberg_place(fuzzer, place) for place in chosen]


@pytest.fixture(scope="session")
def rival(fuzzer: Fuzzer, oauth_client: tuple[str, str]) -> Fuzzer:
    """Another recipient of the share `sales`."""
    credentials = base64.b64encode(":".join(map(quote_plus, oauth_client)).encode()).decode()
    headers = [
        ("authorization", f"Basic {credentials}"),
        ("content-type", "application/x-www-form-urlencoded"),
    ]
    answer = fuzzer.gateway.send(
        Request("POST", "/oauth/token", headers, b"grant_type=client_credentials")
    )
    return Fuzzer(fuzzer.gateway, answer.json["access_token"], fuzzer.secrets)
