"""`sluicegate ledger` and `sluicegate recipient revoke --sessions`, as operators run them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gateways.vending_files import VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.api import Principal, SharedAsset, Unavailable
from sluicegate.cli.main import run
from sluicegate.vending.entries import LedgerEntry
from sluicegate_testing.fakes import MemoryVendor

Command = Callable[..., tuple[int, str, str]]
TABLES: dict[str, dict[str, Any]] = {
    name: {"history": True, "access_modes": ["url", "dir"]} for name in ("orders", "visits")
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendingGateway]:
    """One that has given credentials for one table, and URLs of another."""
    folder = tmp_path_factory.mktemp("commands")
    for name in TABLES:
        DeltaFolder(folder / "lake" / name).commit(0, protocol(), metadata(), add("a.parquet"))
    with vending_gateway(folder, TABLES) as served:
        assert served.credentials("orders").status == 200
        assert served.query("schemas/eu/tables/visits").status == 200
        assert served.served.run(served.served.gateway.parts.vending.ledger.flush())
        yield served


@pytest.fixture
def command(
    gateway: VendingGateway, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run a command beside the gateway; its exit code, output and errors."""
    monkeypatch.chdir(gateway.lake.removeprefix("file://").removesuffix("/lake"))

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    return run_command


def test_the_ledger_is_a_table_for_people(command: Command, gateway: VendingGateway) -> None:
    code, shown, _ = command("ledger")
    header, visits, orders = shown.splitlines()
    assert (code, header.split()) == (
        0,
        ["VENDED", "RECIPIENT", "ASSET", "NAME", "KIND", "EXPIRES", "ADDRESS", "REQUEST", "SCOPE"],
    )
    for part in (
        "acme",
        "table",
        "sales.eu.orders",
        "credentials/aws",
        "127.0.0.1",
        f"{gateway.lake}/orders",
    ):
        assert f"  {part}" in orders
    for part in ("acme", "sales.eu.visits", "urls", f"1 file of {gateway.lake}/visits"):
        assert f"  {part}" in visits


def test_json_has_all_that_is_known_and_no_secret(command: Command, gateway: VendingGateway) -> None:
    code, shown, _ = command("ledger", "--json", "--kind", "credentials")
    [entry] = json.loads(shown)
    assert code == 0
    assert entry["locations"] == [f"{gateway.lake}/orders"]
    assert entry["expires_at"].endswith("Z")
    for secret in gateway.vendor.answered[0].secret.values():
        assert secret not in shown


@pytest.mark.parametrize(
    ("filters", "tables"),
    [
        (["--table", "eu.orders"], ["orders"]),
        (["--share", "SALES", "--recipient", "Acme"], ["visits", "orders"]),
        (["--kind", "urls"], ["visits"]),
        (["--since", "1h"], ["visits", "orders"]),
        (["--since", "2100-01-01"], []),
        (["--since", "9999999999999999999d"], ["visits", "orders"]),
        (["--until", "1h"], []),
        (["--until", "2100-01-01T00:00:00+01:00"], ["visits", "orders"]),
        (["--active"], ["visits", "orders"]),
        (["--limit", "1"], ["visits"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_filters(command: Command, filters: list[str], tables: list[str]) -> None:
    code, shown, _ = command("ledger", "--json", *filters)
    assert (code, [entry["table"] for entry in json.loads(shown)]) == (0, tables)


def test_an_empty_result_is_reported(command: Command) -> None:
    assert command("ledger", "--recipient", "nobody") == (0, "", "no entries found\n")


@pytest.mark.parametrize("moment", ["yesterday", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59-12:00"])
def test_a_time_that_is_none_is_refused(command: Command, moment: str) -> None:
    code, _, errors = command("ledger", "--since", moment)
    assert code == 2
    assert f"'{moment}' is not a time" in errors


def test_revoking_ends_the_sessions_of_storage_that_vends(command: Command) -> None:
    code, shown, errors = command("recipient", "revoke", "ACME", "--sessions")
    assert (code, errors) == (0, "")
    first, second, third = shown.splitlines()
    assert first == "ACME: access revoked, with 1 valid token"
    assert second.endswith(": sessions ended")
    assert third == "the sessions were ended"
    assert importlib.import_module("plugin_vending").ENDED == ["acme"]


def test_without_storage_that_vends_there_is_nothing_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    assert run(["recipient", "create", "acme"]) == 0
    assert run(["recipient", "revoke", "acme", "--sessions"]) == 0
    assert "there are no sessions to end" in capfd.readouterr().out


def test_usage_is_a_table_for_people_and_json_for_programs(command: Command) -> None:
    code, shown, _ = command("usage", "--by", "table", "--recipient", "acme")
    header, *rows, total = [line.split() for line in shown.splitlines()]
    assert (code, header) == (0, ["ASSET", "NAME", "RESPONSES", "CREDENTIALS", "FILES", "BYTES"])
    assert ["table", "sales.eu.orders", "1", "1", "0", "-"] in rows
    assert ["table", "sales.eu.visits", "1", "0", "1", "-"] in rows
    assert total == ["total", "2", "1", "1", "-"]
    code, shown, _ = command("usage", "--since", "1d", "--recipient", "acme", "--json")
    report = json.loads(shown)
    assert (code, report["by"], report["total"]["responses"]) == (0, "day", 2)


def test_usage_is_drawn_as_bars(command: Command) -> None:
    code, shown, errors = command("usage", "--by", "table", "--plot", "responses")
    assert (code, errors) == (0, "")
    lines = {title: number for title, _, number in map(str.split, shown.splitlines())}
    assert lines == {"sales.eu.orders": "1", "sales.eu.visits": "1"}
    code, _, errors = command("usage", "--plot", "files", "--json")
    assert code == 2
    assert "--plot and --json exclude each other" in errors


def test_wrong_options_of_usage_are_explained(command: Command) -> None:
    assert command("usage", "--share", "none") == (0, "", "nothing was offered in this time\n")
    code, _, errors = command("usage", "--since", "2026-02-01", "--until", "2026-01-01")
    assert (code, "must not be after --until" in errors) == (2, True)
    _, shown, errors = command("usage", "--by", "table", "--limit", "1")
    assert (len(shown.splitlines()), "only 1 rows are shown" in errors) == (3, True)


def test_the_ledger_shows_the_kind_of_each_asset(
    command: Command, gateway: VendingGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = gateway.served.gateway.parts.vending.ledger
    entry = LedgerEntry.of(
        Principal("other", "other", "bearer"),
        SharedAsset("v", "sales", "s", "eu", "manuals", "raw", "s3://lake/manuals", kind="volume"),
        ("s3://lake/manuals",),
        kind="credentials",
        given_at=1,
        issued_at=1,
        expires_at=2,
    )
    gateway.served.run(ledger.write(entry))
    _, shown, _ = command("ledger", "--recipient", "other")
    assert "  other      volume  sales.eu.manuals  credentials  " in shown


def test_a_deletion_waits_for_the_end_of_all_sessions(
    command: Command, gateway: VendingGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = command("ledger", "--recipient", "acme", "--json")[1]
    assert json.loads(before)
    delete = ("recipient", "delete", "acme", "--sessions", "--yes")

    async def fail(*_: object) -> None:
        raise Unavailable("the cloud does not respond")

    with monkeypatch.context() as context:
        context.setattr(MemoryVendor, "end_sessions", fail)
        code, _, errors = command(*delete)
    assert (code, "is revoked, but the recipient is not deleted" in errors) == (1, True)
    assert json.loads(command("recipient", "show", "acme", "--json")[1])["state"] == "revoked"
    code, shown, _ = command(*delete, "--json")
    assert code == 0
    deleted = json.loads(shown)
    [session] = deleted.pop("sessions")
    assert deleted == {"recipient": "acme", "state": "deleted", "ended_credentials": 0}
    assert (session["ended"], session["instructions"]) == (True, "the sessions were ended")
    assert command("recipient", "show", "acme")[0] == 1
    assert command("ledger", "--recipient", "acme", "--json")[1] == before
