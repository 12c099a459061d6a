"""The Terraform example sends requests that the Admin API describes, and reads what it has written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from admin.conftest import Site
from support.servers.migrated import new_sqlite

MAIN = Path(__file__).resolve().parents[2] / "deploy" / "terraform" / "main.tf"
RESOURCE = re.compile(r'resource "restapi_object" "(\w+)" \{(.*?)\n\}', re.DOTALL)
PATH = re.compile(r'(path|create_path|update_path)\s*= "(.*)"')
DATA = re.compile(r"jsonencode\(\{(.*?)\}\)", re.DOTALL)
KEY = re.compile(r"(\w+)\s+=|[{,]\s*(\w+) =|^\s*(\w+) =")
# Values as in `example.tfvars`; those of data are of the type that the variables declare.
NAMES = {"share": "new", "schema": "eu", "table": "orders", "recipient": "partner"}
VALUES: Mapping[str, Any] = {
    "comment": "Orders",
    "catalog": "raw",
    "table": "file:///srv/orders",
    "history": True,
    "allow_from": ["203.0.113.0/24"],
    "recipient": "partner",
    "share": "new",
}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough."""
    return new_sqlite(tmp_path / "sluicegate.db")


def resources() -> dict[str, tuple[dict[str, str], Sequence[str]]]:
    """The paths of each resource, with names in place of expressions, and the keys of its data."""
    found: dict[str, tuple[dict[str, str], Sequence[str]]] = {}
    for kind, body in RESOURCE.findall(MAIN.read_text()):
        paths = {name: _named(path, kind) for name, path in PATH.findall(body)}
        keys = [next(filter(None, each)) for each in KEY.findall(DATA.findall(body)[0])]
        found[kind] = (paths, keys)
    return found


def _named(path: str, kind: str) -> str:
    names = iter(NAMES[each] for each in NAMES if f"/{each}s/$" in path)
    path = re.sub(r"\$\{(?:[^{}]|\$\{[^}]*\})*\}", lambda _: next(names), path)
    return path.replace("{id}", NAMES["share" if kind == "grant" else kind])


async def test_each_resource_is_created_read_repeated_and_deleted(site: Site) -> None:
    described = (await site.ask("GET", "/openapi.json", role=None)).json["paths"]
    found = resources()
    assert [*found] == ["share", "schema", "table", "recipient", "grant"]
    urls = {}
    for kind, (paths, keys) in found.items():
        own = NAMES["share" if kind == "grant" else kind]
        data = {key: own if key == "name" else VALUES[key] for key in keys}
        urls[kind] = f"{paths['path']}/{own}"
        template = _template(described, urls[kind])
        assert {"get", "put", "delete"} <= {*described[template]}, template
        for path in (paths["create_path"], paths.get("update_path", urls[kind])):
            _check_parameters(described[template]["put"], path)
            assert (await site.ask("PUT", path, data, role="admin")).status in (200, 201), path
        read = await site.ask("GET", urls[kind])
        assert {key: read.json[key] for key in data} == data or kind == "table"
        again = await site.ask("GET", urls[kind], headers={"If-None-Match": read.headers["etag"]})
        assert again.status == 304
    await _check_kept(site, found, urls)
    for kind in reversed(found):
        assert (await site.ask("DELETE", urls[kind], role="admin")).status in (200, 204)
        assert (await site.ask("GET", urls[kind])).status == 404


async def _check_kept(site: Site, found: Mapping[str, Any], urls: Mapping[str, str]) -> None:
    """An update of a share or recipient keeps its tables and grants."""
    before = {kind: (await site.ask("GET", url)).json for kind, url in urls.items()}
    for kind in ("share", "schema", "recipient"):
        path = found[kind][0]["update_path"]
        await site.ask("PUT", path, {"comment": "changed"}, role="admin")
    for kind in ("table", "grant"):
        assert (await site.ask("GET", urls[kind])).json == before[kind]
    replaced = await site.ask("PUT", urls["recipient"], {"comment": "alone"}, role="admin")
    assert "shares" not in replaced.json
    await site.ask("PUT", urls["grant"], role="admin")


def _template(described: Mapping[str, Any], path: str) -> str:
    for template in described:
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, f"/admin/v1{path}"):
            return template
    raise AssertionError(path)


def _check_parameters(operation: Mapping[str, Any], path: str) -> None:
    known = {each["name"] for each in operation["parameters"]}
    given = {each.partition("=")[0] for each in path.partition("?")[2].split("&") if each}
    assert given <= known
