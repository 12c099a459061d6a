"""Volumes, models with their versions, and skills, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import delta_sharing
import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

SCHEMA = "/shares/sales/schemas/eu"
SKILL = """\
---
name: {name}
description: >
  How we write SQL.
license: Apache-2.0
allowed-tools: Read Bash(sql:*)
metadata: {{version: 1.10, team: data}}
---
# Text
"""
NAMED = {"schema": "eu", "share": "sales"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    for name in (
        "manuals",
        "drawings",
        "models/churn/1",
        "models/churn/2",
        "models/churn/10",
        "models/churn/tmp",
    ):
        (lake / name).mkdir(parents=True)
        (lake / name / "file").write_text("content")
    for name in ("sql-style", "renamed", "broken"):
        (lake / name).mkdir()
    (lake / "sql-style" / "SKILL.md").write_text(SKILL.format(name="sql-style"))
    (lake / "renamed" / "SKILL.md").write_text(SKILL.format(name="sql-style"))
    (lake / "broken" / "SKILL.md").write_text("---\nname: [\n---\n")
    write_deltalake(lake / "orders", pa.table({"id": [1, 2]}))
    return lake


@pytest.fixture(scope="module")
def gateway(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("gateway")
    settings = {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
    }
    write_configuration(folder, settings, _shares(lake))
    with running_gateway(folder) as running:
        yield running


def _shares(lake: Path) -> dict[str, Any]:
    def at(kind: str, path: str, **options: object) -> dict[str, object]:
        return {"catalog": "raw", kind: f"file://{lake}/{path}", **options}

    eu = {
        "volumes": {
            "Manuals": at("volume", "manuals"),
            "drawings": at("volume", "drawings"),
            "nowhere": {"catalog": "raw", "volume": "s3://unserved/v"},
        },
        "models": {
            "churn": at("model", "models/churn", comment="Who leaves", aliases={"Champion": 2}),
            "part": at("model", "models/churn", versions=[1, 10]),
        },
        "skills": {name: at("skill", name) for name in ("sql-style", "renamed", "broken", "missing")},
    }
    us = {"volumes": {"forms": at("volume", "drawings")}, "tables": {"orders": at("table", "orders")}}
    return {
        "shares": {
            "sales": {"schemas": {"eu": eu, "us": us}},
            "secret": {"schemas": {"eu": eu}},
        },
        "recipients": {"acme": {"shares": ["sales"]}},
    }


@pytest.fixture(scope="module")
def client(gateway: RunningGateway) -> Iterator[httpx.Client]:
    token = json.loads(gateway.profile("acme").read_text())["bearerToken"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=gateway.endpoint, headers=headers, timeout=30) as made:
        yield made


def _items(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_volumes_are_listed_with_their_locations(client: httpx.Client, lake: Path) -> None:
    drawings, manuals = _items(client, f"{SCHEMA}/volumes")
    assert (drawings["name"], manuals["name"]) == ("drawings", "Manuals")
    assert manuals == {
        **NAMED,
        "name": "Manuals",
        "id": manuals["id"],
        "shareId": manuals["shareId"],
        "storageLocation": f"file://{lake}/manuals",
    }


def test_one_volume_is_found_whatever_the_case(client: httpx.Client) -> None:
    answer = client.get("/shares/SALES/schemas/EU/volumes/MANUALS")
    assert answer.status_code == 200
    assert answer.json() in _items(client, f"{SCHEMA}/volumes")


def test_listings_of_a_share_contain_all_of_its_schemas(client: httpx.Client) -> None:
    listed = _items(client, "/shares/sales/all-volumes")
    assert [(each["schema"], each["name"]) for each in listed] == [
        ("eu", "drawings"),
        ("eu", "Manuals"),
        ("us", "forms"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        f"{SCHEMA}/volumes",
        f"{SCHEMA}/models",
        "/shares/sales/all-skills",
        f"{SCHEMA}/models/churn/versions",
    ],
)
def test_pages_add_up_to_the_listing(client: httpx.Client, path: str) -> None:
    found, query = [], {"maxResults": "1"}
    while True:
        answer = client.get(path, params=query).json()
        assert len(answer["items"]) <= 1
        found += answer["items"]
        if "nextPageToken" not in answer:
            break
        query["pageToken"] = answer["nextPageToken"]
    assert found == _items(client, path)


def test_a_page_token_is_valid_only_for_its_listing(client: httpx.Client) -> None:
    token = client.get(f"{SCHEMA}/volumes", params={"maxResults": "1"}).json()["nextPageToken"]
    for path in (f"{SCHEMA}/models", "/shares/sales/all-volumes", f"{SCHEMA}/tables"):
        assert client.get(path, params={"pageToken": token}).status_code == 400


def test_a_model_has_the_comment_and_the_root_of_its_versions(client: httpx.Client, lake: Path) -> None:
    model = client.get(f"{SCHEMA}/models/churn").json()
    assert model["comment"] == "Who leaves"
    assert model["storageLocation"] == f"file://{lake}/models/churn"


def test_versions_are_listed_by_number(client: httpx.Client, lake: Path) -> None:
    versions = _items(client, f"{SCHEMA}/models/churn/versions")
    assert [each["version"] for each in versions] == [1, 2, 10]
    assert versions[1] == {
        **NAMED,
        "modelName": "churn",
        "version": 2,
        "status": "READY",
        "storageLocation": f"file://{lake}/models/churn/2",
        "id": versions[1]["id"],
    }
    assert len({each["id"] for each in versions}) == 3


def test_a_version_is_found_by_number_and_by_alias(client: httpx.Client) -> None:
    by_number = client.get(f"{SCHEMA}/models/churn/versions/2").json()
    assert by_number["version"] == 2
    assert client.get(f"{SCHEMA}/models/churn/aliases/champion").json() == by_number


def test_versions_that_are_not_shared_do_not_exist(client: httpx.Client) -> None:
    assert [each["version"] for each in _items(client, f"{SCHEMA}/models/part/versions")] == [1, 10]
    assert client.get(f"{SCHEMA}/models/part/versions/2").status_code == 404


@pytest.mark.parametrize("version", ["3", "-1", "01x", "tmp", "٣", "9" * 400, "%00"])
def test_unknown_versions_are_not_found(client: httpx.Client, version: str) -> None:
    for path in (f"versions/{version}", f"aliases/{version}"):
        assert client.get(f"{SCHEMA}/models/churn/{path}").status_code == 404


def test_a_skill_has_the_fields_of_its_file(client: httpx.Client, lake: Path) -> None:
    skill = client.get(f"{SCHEMA}/skills/sql-style").json()
    assert skill == {
        **NAMED,
        "name": "sql-style",
        "id": skill["id"],
        "shareId": skill["shareId"],
        "description": "How we write SQL.",
        "storageLocation": f"file://{lake}/sql-style",
        "license": "Apache-2.0",
        "allowedTools": "Read Bash(sql:*)",
        "metadata": {"version": "1.10", "team": "data"},
    }


@pytest.mark.parametrize("name", ["renamed", "broken", "missing"])
def test_a_skill_without_a_valid_file_names_itself(client: httpx.Client, lake: Path, name: str) -> None:
    answer = client.get(f"{SCHEMA}/skills/{name}")
    assert answer.status_code == 400
    assert f"the skill sales.eu.{name} cannot be read" in answer.json()["message"]
    assert str(lake) not in answer.text


def test_skills_that_cannot_be_read_are_left_out_of_listings(client: httpx.Client) -> None:
    assert [each["name"] for each in _items(client, f"{SCHEMA}/skills")] == ["sql-style"]


def test_a_location_that_no_storage_serves_is_a_matter_for_the_provider(client: httpx.Client) -> None:
    answer = client.get(f"{SCHEMA}/volumes/nowhere")
    assert answer.status_code == 503
    assert "sales.eu.nowhere" in answer.json()["message"]
    assert "unserved" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "volumes/Manuals/temporary-volume-credentials",
        "models/churn/versions/2/temporary-model-credentials",
        "skills/sql-style/temporary-skill-credentials",
    ],
)
def test_storage_without_credentials_says_so(client: httpx.Client, path: str) -> None:
    answer = client.post(f"{SCHEMA}/{path}")
    assert answer.status_code == 400, answer.text
    assert answer.json()["errorCode"] == "UNSUPPORTED_OPERATION"
    assert f"sales.eu.{path.split('/')[1]}" in answer.json()["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/shares/secret/schemas/eu/volumes",
        "/shares/secret/all-skills",
        "/shares/secret/schemas/eu/models/churn",
        f"{SCHEMA}/volumes/none",
        f"{SCHEMA}/skills/manuals",
        "/shares/sales/schemas/none/volumes",
    ],
)
def test_what_is_not_shared_does_not_exist(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["errorCode"] == "RESOURCE_DOES_NOT_EXIST"


def test_tables_are_listed_without_other_assets(client: httpx.Client) -> None:
    assert _items(client, f"{SCHEMA}/tables") == []
    assert [each["name"] for each in _items(client, "/shares/sales/all-tables")] == ["orders"]
    assert client.get(f"{SCHEMA}/tables/Manuals").status_code == 404


def test_the_official_client_lists_the_tables_of_a_share_with_other_assets(
    gateway: RunningGateway,
) -> None:
    profile = gateway.profile("acme")
    client = delta_sharing.SharingClient(str(profile))
    tables = [(table.schema, table.name) for table in client.list_all_tables()]
    assert tables == [("us", "orders")]
    assert client.list_tables(delta_sharing.Schema("eu", "sales")) == []
    rows = delta_sharing.load_as_pandas(f"{profile}#sales.us.orders")
    assert sorted(rows["id"]) == [1, 2]
