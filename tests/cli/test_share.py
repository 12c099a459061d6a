"""`sluicegate share`, as operators run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.servers.migrated import new_sqlite

from sluicegate.cli.main import run

SHARES = """
shares:
  sales:
    comment: Daily sales
    schemas:
      eu:
        tables: {orders: {catalog: raw, table: "file:///srv/orders", history: true}}
        volumes: {scans: {catalog: raw, volume: "file:///srv/scans"}}
      us: {from: {catalog: raw, schema: lake.us}}
  all: {from: {catalog: raw}}
recipients: {acme: {shares: [sales], comment: The acme}, beta: {}}
"""
SHOWN = """\
recipients:
  - acme
comment: Daily sales
schemas:
  eu:
    tables:
      orders:
        catalog: raw
        table: file:///srv/orders
        history: true
    volumes:
      scans:
        catalog: raw
        volume: file:///srv/scans
  us:
    from:
      catalog: raw
      schema: lake.us
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run a command in a folder whose database has the shares; its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    (tmp_path / "shares.yaml").write_text(SHARES)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    assert run_command("apply", "shares.yaml", "--offline")[0] == 0
    return run_command


def test_shares_are_listed_with_content_and_recipients(command: Command) -> None:
    code, shown, _ = command("share", "list")
    assert code == 0
    assert [line.split(maxsplit=6) for line in shown.splitlines()] == [
        ["NAME", "SCHEMAS", "TABLES", "ASSETS", "FROM", "RECIPIENTS", "COMMENT"],
        ["all", "0", "0", "0", "raw", "-"],
        ["sales", "2", "1", "1", "raw:lake.us", "acme", "Daily sales"],
    ]
    listed = json.loads(command("share", "list", "--json")[1])
    assert listed[1] == {
        "name": "sales",
        "display_name": None,
        "comment": "Daily sales",
        "schemas": ["eu", "us"],
        "tables": 1,
        "assets": 1,
        "from": [{"catalog": "raw", "schema": "lake.us", "kinds": ["tables"]}],
        "recipients": ["acme"],
    }


def test_a_share_is_shown_with_its_options_and_for_programs_with_all_of_them(command: Command) -> None:
    code, shown, _ = command("share", "show", "SALES")
    assert (code, shown.splitlines()[0]) == (0, "name: sales")
    assert shown.partition("\nrecipients")[2] == SHOWN.removeprefix("recipients")
    complete = json.loads(command("share", "show", "sales", "--json")[1])
    assert (complete["display_name"], complete["from"], complete["properties"]) == (None, None, {})
    orders = complete["schemas"]["eu"]["tables"]["orders"]
    assert (orders["start_version"], orders["access_modes"]) == (0, ["url"])
    assert len({complete["id"], orders["id"], complete["schemas"]["eu"]["volumes"]["scans"]["id"]}) == 3


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_export_is_a_shares_file_that_changes_nothing(
    command: Command, tmp_path: Path, form: tuple[str, ...]
) -> None:
    code, exported, _ = command("share", "export", "--recipients", *form)
    assert code == 0
    (tmp_path / "again.yaml").write_text(exported)
    assert command("apply", "again.yaml", "--prune", "--offline")[1] == "nothing to change\n"


def test_tables_keep_their_ids_at_another_gateway(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = command("share", "export", "--ids")[1]
    shown = json.loads(command("share", "show", "sales", "--json")[1])
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    (other / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    (other / "shares.yaml").write_text(exported)
    assert command("apply", "shares.yaml", "--offline")[0] == 0
    copied = json.loads(command("share", "show", "sales", "--json")[1])
    assert copied["id"] != shown["id"]
    assert copied["schemas"]["eu"]["tables"] == shown["schemas"]["eu"]["tables"]


def test_one_share_is_exported_without_recipients(command: Command) -> None:
    exported = command("share", "export", "all")[1]
    assert exported == "shares:\n  all:\n    from:\n      catalog: raw\n"


@pytest.mark.parametrize("subcommand", ["show", "export"])
def test_an_unknown_share_is_an_error_with_the_most_similar_name(
    command: Command, subcommand: str
) -> None:
    assert command("share", subcommand, "sale") == (
        1,
        "",
        "error: there is no share 'sale'; did you mean 'sales'?\n",
    )


def test_no_text_controls_the_terminal(command: Command, tmp_path: Path) -> None:
    comment = "one\x1b[2K\ntwo\u202e"
    shares = {"shares": {"sales": {"comment": comment}}, "recipients": {"acme": {"comment": comment}}}
    (tmp_path / "odd.yaml").write_text(json.dumps(shares))
    shown = [
        command(*arguments)[1]
        for arguments in (
            ("apply", "odd.yaml", "--offline"),
            ("share", "list"),
            ("recipient", "list"),
            ("recipient", "show", "acme"),
        )
    ]
    assert all("one\\x1b[2K\\ntwo\\u202e" in each for each in shown)
    assert not any("\x1b" in each or "\u202e" in each for each in shown)
    assert json.loads(command("share", "list", "--json")[1])[1]["comment"] == comment
