"""`plugins`, `config` and `tables`, as an operator uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.process.installed import CATALOG, STORAGE, Site

from sluicegate.cli.main import run

Capture = pytest.CaptureFixture[str]
DOWN = CATALOG.replace(
    'return ["eu"]', 'raise Unavailable("does not respond", detail="timed out")'
).replace("import Catalog,", "import Catalog, Unavailable,")
HALF = CATALOG.replace('return ["eu"]', 'return ["eu", "us"]').replace(
    'return ["orders"]',
    'if schema == "eu":\n            raise NotFound("is gone")\n        return ["visits"]',
).replace("import Catalog,", "import Catalog, NotFound,")  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def installed(site: Site) -> Site:
    for name, code in (("uc", CATALOG), ("mem", STORAGE), ("down", DOWN), ("half", HALF)):
        site.install(name, code)
    site.install("broken", "import no_such_module")
    return site


def configure(folder: Path, text: str) -> None:
    (folder / "gateway.yaml").write_text(text)


def reports(capsys: Capture) -> dict[str, dict[str, Any]]:
    return {report["name"]: report for report in json.loads(capsys.readouterr().out)}


def test_plugins_lists_installed_enabled_and_provided(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(folder, "catalogs: {main: {type: uc, uri: x}}")
    assert run(["plugins", "--json"]) == 0
    found = reports(capsys)
    assert found["uc"] == {
        "name": "uc",
        "distribution": "sluicegate-uc",
        "version": "1.0",
        "enabled": True,
        "provides": ["catalog uc"],
        "problem": None,
    }
    assert found["mem"]["enabled"] is False
    assert found["mem"]["provides"] == ["storage mem (memory://, mem://)"]
    assert found["broken"]["problem"].endswith("ModuleNotFoundError: No module named 'no_such_module'")


def test_plugins_fails_for_an_enabled_one_that_is_broken_or_missing(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(folder, "plugins: [broken, absent]")
    assert run(["plugins", "--json"]) == 1
    found = reports(capsys)
    assert "cannot be imported" in found["broken"]["problem"]
    assert "'absent' is enabled but not installed" in found["absent"]["problem"]
    assert found["absent"]["distribution"] is None


def test_plugins_works_without_a_configuration_and_reports_duplicates(
    installed: Site, capsys: Capture
) -> None:
    installed.install("uc", CATALOG, distribution="acme-uc")
    assert run(["plugins"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("uc ")]
    assert len(lines) == 2
    assert all("provided by both acme-uc 1.0 and sluicegate-uc 1.0" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("servr: {}", "error: gateway.yaml:1:1: unknown key 'servr'"),
        ("catalogs: {main: {type: uc}}", "error: gateway.yaml:1:18: catalogs.main: 'uri' is missing"),
        ("plugins: [absent]", "error: gateway.yaml:1:11: plugin 'absent' is enabled but not installed"),
        ("database: mysql://x", "error: gateway.yaml:1:11: the database URL has an unknown scheme"),
        (
            "database: postgresql://h/d",
            "error: gateway.yaml:1:11: with PostgreSQL, 'signing_key' must be",
        ),
    ],
)
def test_config_check_reports_what_is_wrong_and_where(
    installed: Site, folder: Path, capsys: Capture, text: str, expected: str
) -> None:
    configure(folder, text)
    assert run(["config", "check"]) == 1
    assert capsys.readouterr().err.startswith(expected)


def test_config_check_reports_the_problems_of_several_parts_at_once(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(folder, "catalogs: {main: {type: uc}}\ndatabase: mysql://x")
    assert run(["config", "check"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_config_check_opens_nothing(installed: Site, folder: Path, capsys: Capture) -> None:
    configure(folder, "catalogs: {main: {type: down, uri: x}}")
    assert run(["config", "check"]) == 0
    assert [path.name for path in folder.iterdir()] == ["gateway.yaml"]


def test_config_schema_holds_the_sections_of_installed_plugins(
    installed: Site, capsys: Capture
) -> None:
    assert run(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    definitions = schema["$defs"]
    (catalogs,) = schema["properties"]["catalogs"]["patternProperties"].values()
    types = {
        definitions[section["$ref"].rpartition("/")[2]]["properties"]["type"]["const"]
        for section in (*catalogs["oneOf"], *schema["properties"]["storage"]["items"]["oneOf"])
    }
    assert {"uc", "mem", "down", "half"} <= types
    assert "broken" not in types
    assert schema["properties"]["database"]["default"] == "sqlite:///sluicegate.db"


def test_tables_lists_what_catalogs_offer(installed: Site, folder: Path, capsys: Capture) -> None:
    configure(folder, "catalogs: {a: {type: uc, uri: x}, b: {type: half, uri: x}}")
    assert run(["tables", "a"]) == 0
    assert capsys.readouterr().out == "a\teu\torders\teu.orders\n"
    assert run(["tables", "b", "us"]) == 0
    assert capsys.readouterr().out == "b\tus\tvisits\tus.visits\n"
    assert run(["tables", "a", "--json"]) == 0
    [table] = json.loads(capsys.readouterr().out)
    assert table == {"catalog": "a", "schema": "eu", "name": "orders", "identifier": "eu.orders"}


ASSETS = """
from sluicegate.api import CatalogConfig, CatalogType, CatalogAsset, hookimpl
from sluicegate_testing.fakes import MemoryCatalog

class Assets(MemoryCatalog):
    def __init__(self, config, context):
        named = {name: CatalogAsset(name, f"s3://lake/{name}") for name in ("notes", "a b", "manuals")}
        super().__init__({"eu": {}}, {("volume", f"eu.{name}"): each for name, each in named.items()})

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("assets", CatalogConfig, Assets)]
"""


def test_assets_of_a_kind_are_listed(installed: Site, folder: Path, capsys: Capture) -> None:
    installed.install("assets", ASSETS)
    configure(folder, "catalogs: {a: {type: assets}}")
    assert run(["tables", "a", "--kind", "volume"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "a\teu\ta b\teu.a b\na\teu\tmanuals\teu.manuals\na\teu\tnotes\teu.notes\n"
    assert shown.err.startswith(
        "note: volume 'a b' of schema 'eu' of catalog 'a' is not shared by 'from'"
    )
    assert run(["tables", "--kind", "model"]) == 0
    assert capsys.readouterr().out == ""


def test_a_catalog_that_cannot_list_assets_says_so(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(folder, "catalogs: {a: {type: uc, uri: x}}")
    assert run(["tables", "a", "--kind", "volume"]) == 1
    assert (
        "error: schema 'eu' of catalog 'a': the catalog cannot list volumes" in capsys.readouterr().err
    )


def test_tables_of_one_catalog_are_listed_though_another_fails(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(
        folder,
        "catalogs: {a: {type: down, uri: x}, b: {type: half, uri: x}, c: {type: uc, uri: x}}",
    )
    assert run(["tables"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "b\tus\tvisits\tus.visits\nc\teu\torders\teu.orders\n"
    assert captured.err == (
        "error: catalog 'a': does not respond: timed out\nerror: schema 'eu' of catalog 'b': is gone\n"
    )


def test_tables_names_a_catalog_with_a_defect_and_lists_the_others(
    installed: Site, folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.install("faulty", CATALOG.replace('return ["eu"]', "raise KeyError('a secret')"))
    configure(folder, "catalogs: {a: {type: faulty, uri: x}, b: {type: uc, uri: x}}")
    assert run(["tables"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("b\teu\torders")
    assert (
        printed.err
        == "error: catalog 'a': unexpected KeyError; set SLUICEGATE_DEBUG=1 for a traceback\n"
    )
    monkeypatch.setenv("SLUICEGATE_DEBUG", "1")
    with pytest.raises(KeyError):
        run(["tables"])


def test_tables_reports_a_catalog_that_lists_nothing(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    installed.install("bare", CATALOG.replace('return ["eu"]', "return []"))
    configure(folder, "catalogs: {a: {type: bare, uri: x}}")
    assert run(["tables"]) == 0
    assert capsys.readouterr() == (
        "",
        "note: catalog 'a': 0 schemas: the catalog lists none that the gateway can read\n",
    )


def test_tables_names_the_schemas_that_a_shared_catalog_leaves_out(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    installed.install("odd", CATALOG.replace('return ["eu"]', 'return ["b c", "eu"]'))
    configure(folder, "catalogs: {a: {type: odd, uri: x}}")
    assert run(["tables"]) == 0
    assert capsys.readouterr().err == (
        "note: schema 'b c' of catalog 'a' is not shared by 'from': a schema's name cannot contain a "
        "space; set alias: '_' to share it as 'b_c', or declare it with another name\n"
    )
    assert run(["tables", "a", "eu"]) == 0
    assert capsys.readouterr().err == ""


def test_tables_names_what_a_whole_schema_leaves_out(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    listing = 'return ["b c", "plain", "Plain"]'
    installed.install("odd", CATALOG.replace('return ["orders"]', listing))
    configure(folder, "catalogs: {a: {type: odd, uri: x}}")
    assert run(["tables"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        f"a\teu\t{name}\teu.{name}" for name in ("Plain", "b c", "plain")
    ]
    notes = captured.err.splitlines()
    place = "of schema 'eu' of catalog 'a' is not shared by 'from':"
    assert notes[0].startswith(f"note: table 'Plain' {place} recipients would see it and 'plain' under")
    assert notes[1] == (
        f"note: table 'b c' {place} a table's name cannot contain a space; set alias: '_' to share it "
        "as 'b_c', or declare it with another name"
    )
    assert len(notes) == 3


def test_tables_of_an_unknown_catalog_is_an_error(
    installed: Site, folder: Path, capsys: Capture
) -> None:
    configure(folder, "catalogs: {a: {type: uc, uri: x}}")
    assert run(["tables", "nope"]) == 1
    expected = "error: there is no catalog named 'nope' in the configuration; known: "
    assert capsys.readouterr().err.startswith(expected)
