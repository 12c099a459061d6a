"""What `apply` and `tables` say of sources that recipients could not read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.servers.migrated import new_sqlite

from sluicegate.access.selection import empty_schema, select_tables
from sluicegate.api import ListedTable, SharedSchemaSource
from sluicegate.cli.main import run
from sluicegate_testing.fakes import MemoryCatalog
from sluicegate_testing.servers.polaris import Polaris
from sluicegate_testing.servers.unity_catalog.unity import UnityReply, UnityServer, table_info

Command = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def unity() -> Iterator[UnityServer]:
    with UnityServer.start() as server:
        server.state.schemas = ["main.empty"]
        server.state.add(
            table_info("main.eu.orders", "file:///lake/orders", 1),
            table_info("main.eu.report", None, 2, table_type="VIEW"),
            table_info("main.eu.secret", "file:///lake/secret", 3),
            table_info("main.us.visits", "file:///lake/visits", 4),
        )
        server.state.forbidden = {"main.us", "main.eu.secret"}
        yield server


@pytest.fixture
def command(
    unity: UnityServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Run a command over the catalog `main`; its exit code, output and lines of errors."""
    monkeypatch.chdir(tmp_path)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text(
        f"public_url: https://share.example.com\n"
        f"catalogs: {{main: {{type: unity, uri: '{unity.uri}', catalog: main}}}}\n"
    )

    def run_command(*arguments: str) -> tuple[int, str, list[str]]:
        code = run(arguments)
        shown, errors = capfd.readouterr()
        return code, shown, errors.splitlines()

    return run_command


def share(folder: Path, *schemas: str) -> None:
    lines = ["shares:", "  sales:", "    schemas:", *(f"      {each}" for each in schemas)]
    (folder / "shares.yaml").write_text("\n".join(lines))


def table(name: str) -> str:
    return f"eu: {{tables: {{t: {{catalog: main, table: '{name}'}}}}}}"


def whole(schema: str, **options: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in options.items())
    return f"eu: {{from: {{catalog: main, schema: '{schema}'{more}}}}}"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (table("eu.orders"), None),
        (
            table("eu.gone"),
            "the catalog 'main' has no table 'main.eu.gone' [GET /tables/main.eu.gone: 404",
        ),
        (table("eu.secret"), "403 PERMISSION_DENIED Access denied."),
        (table("nope.orders"), "404 SCHEMA_NOT_FOUND Schema not found: main.nope"),
        (table("eu.report"), "the table cannot be shared: it is a view in its catalog"),
        (table("eu.*"), "write from: {catalog: main, schema: …}"),
        (whole("eu"), None),
        (whole("nope"), "the catalog 'main' has no schema 'nope'"),
        (whole("*"), "write from: {catalog: main} at the share"),
        (whole("us"), "0 tables: the gateway may lack USE SCHEMA or SELECT"),
        (whole("empty"), "0 tables: the gateway may lack USE SCHEMA or SELECT"),
        (whole("eu", include="[x*]"), "0 tables: include and exclude select none of 1"),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        (),
        pytest.param(
            ("--dry-run",),
            marks=pytest.mark.night("test_apply_warns_of_a_shared_catalog_without_schemas"),
        ),
    ],
)
def test_apply_warns_of_sources_that_recipients_could_not_read(
    command: Command, tmp_path: Path, source: str, told: str | None, options: tuple[str, ...]
) -> None:
    share(tmp_path, source)
    code, shown, errors = command("apply", "shares.yaml", *options)
    assert code == (2 if options else 0)
    assert "+ share sales" in shown
    assert len(errors) == (0 if told is None else 1)
    assert all(each.startswith("warning: shares.yaml:4:") for each in errors)
    assert told is None or told in errors[0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{catalog: main}", None),
        ("{catalog: main, include: ['e*']}", None),
        ("{catalog: main, exclude: ['*']}", "0 schemas: include and exclude select none of 2"),
        ("{catalog: bare}", "0 schemas: the gateway may lack USE CATALOG or USE SCHEMA"),
        ("{catalog: gone}", "the catalog 'gone' has no catalog 'gone'"),
    ],
)
def test_apply_warns_of_a_shared_catalog_without_schemas(
    unity: UnityServer, command: Command, tmp_path: Path, source: str, told: str | None
) -> None:
    unity.state.schemas.append("bare.eu")
    unity.state.forbidden.add("bare")
    catalogs = {
        name: {"type": "unity", "uri": unity.uri, "catalog": name} for name in ("main", "bare", "gone")
    }
    settings = {"public_url": "https://share.example.com", "catalogs": catalogs}
    (tmp_path / "gateway.yaml").write_text(json.dumps(settings))
    (tmp_path / "shares.yaml").write_text(f"shares:\n  sales:\n    from: {source}\n")
    code, shown, errors = command("apply", "shares.yaml", "--dry-run")
    assert (code, "from.catalog" in shown) == (2, True)
    assert len(errors) == (0 if told is None else 1)
    assert all(each.startswith("warning: shares.yaml:3:21: ") for each in errors)
    assert told is None or told in errors[0]


def test_a_schema_without_a_name_for_any_table_says_why() -> None:
    selected = select_tables([ListedTable("a b"), ListedTable("c d")], SharedSchemaSource("main", "eu"))
    message = empty_schema(selected, 2, MemoryCatalog({}))
    assert message is not None
    assert message.startswith("0 tables: 2 are left out; a table's name cannot contain a space")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("table: ns0.t0, ref: v1", None),
        ("table: ns0.t0, ref: main", None),
        ("table: ns0.t0, ref: audit", "at which the table is shared does not exist"),
        ("table: ns0.clicks, ref: audit", "tables of format 'delta' have none"),
    ],
)
def test_apply_warns_of_branches_that_do_not_exist(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    source: str,
    told: str | None,
) -> None:
    with Polaris.start() as polaris:
        polaris.add(("ns0",), "t0", "s3://lake/wh/ns0/t0", tags=("v1",))
        polaris.add_generic(("ns0",), "clicks", "delta", "s3://lake/clicks")
        monkeypatch.setenv("POLARIS_SECRET", polaris.client_secret)
        lake = {
            "type": "iceberg",
            "uri": polaris.uri,
            "warehouse": polaris.warehouse,
            "oauth2": {
                "client_id": polaris.client_id,
                "client_secret": {"env": "POLARIS_SECRET"},
                "scope": polaris.scope,
            },
        }
        settings = {"public_url": "https://share.example.com", "catalogs": {"lake": lake}}
        (tmp_path / "gateway.yaml").write_text(json.dumps(settings))
        share(tmp_path, f"eu: {{tables: {{t: {{catalog: lake, {source}}}}}}}")
        code, shown, errors = command("apply", "shares.yaml", "--dry-run")
    assert (code, "+ share sales" in shown) == (2, True)
    assert len(errors) == (0 if told is None else 1)
    assert told is None or told in errors[0]


def test_apply_requests_each_source_once(unity: UnityServer, command: Command, tmp_path: Path) -> None:
    tables = ", ".join(
        f"t{number}: {{catalog: main, table: {prefix}eu.orders}}"
        for number, prefix in enumerate(("", "main."))
    )
    share(
        tmp_path,
        f"eu: {{tables: {{{tables}}}}}",
        "all: {from: {catalog: main, schema: eu}}",
        "again: {from: {catalog: main, schema: main.eu}}",
    )
    assert command("apply", "shares.yaml")[2] == []
    assert (unity.count("/tables/main.eu.orders"), unity.count("/tables")) == (1, 1)


def test_apply_sends_no_requests_offline(unity: UnityServer, command: Command, tmp_path: Path) -> None:
    share(tmp_path, table("eu.gone"))
    code, shown, errors = command("apply", "shares.yaml", "--offline")
    assert (code, errors, unity.requests) == (0, [], [])
    assert "+ share sales" in shown


def test_apply_goes_on_where_a_catalog_does_not_answer(
    unity: UnityServer, command: Command, tmp_path: Path
) -> None:
    share(tmp_path, table("eu.orders"))
    unity.instead = lambda _: UnityReply.refusing("PERMISSION_DENIED", "User not allowed: gw@acme")
    code, shown, errors = command("apply", "shares.yaml")
    assert (code, len(errors)) == (0, 1)
    assert "the catalog 'main' rejects the gateway's token" in errors[0]
    assert "+ share sales" in shown


def test_apply_goes_on_where_the_catalogs_cannot_be_configured(
    command: Command, tmp_path: Path
) -> None:
    share(tmp_path, "eu: {from: {catalog: main, schema: eu}}")
    (tmp_path / "gateway.yaml").write_text(
        "public_url: https://share.example.com\ncatalogs: {main: {type: unity}}\n"
    )
    code, shown, errors = command("apply", "shares.yaml")
    assert (code, "+ share sales" in shown) == (0, True)
    assert [each.startswith("warning: the sources were not checked: ") for each in errors] == [True]


def test_tables_says_why_a_schema_may_be_empty(command: Command) -> None:
    code, shown, errors = command("tables", "main", "us")
    assert (code, shown) == (0, "")
    assert errors == [
        "note: schema 'us' of catalog 'main': 0 tables: the gateway may lack USE SCHEMA or SELECT"
    ]
