"""Each managing command prints the same for a database and, with `--server`, for a gateway."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.gateways.gateway import running_gateway, sluicegate
from support.servers.delegation import body as task_body
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.cli.main import run
from sluicegate_testing.secrets import keep_secret

Capture = pytest.CaptureFixture[str]
Outcome = tuple[int, str, str]

WRONG = "shares: {sales: {schemas: {eu: {tables: {x: {catalog: rwa, table: y}}}}}}\n"
UNKNOWN = "recipients:\n  acme:\n    shares: [sales, retuns]\n"
LOST = "shares:\n  returns:\n    schemas:\n      eu:\n        from: {catalog: raw, schema: nowhere}\n"
# In this order, on two gateways with the same content. `T` and `C` stand for ids.
COMMANDS: Sequence[tuple[str, ...]] = (
    ("apply", "shares.yaml", "--dry-run"),
    ("apply", "shares.yaml", "--json"),
    ("apply", "shares.yaml", "--dry-run", "--offline"),
    ("apply", "wrong.yaml"),
    ("apply", "unknown.yaml"),
    ("apply", "lost.yaml", "--dry-run", "--json"),
    ("apply", "fewer.yaml", "--dry-run", "--prune"),
    ("apply", "missing.yaml"),
    ("share", "list"),
    ("share", "list", "--json"),
    ("share", "show", "SALES"),
    ("share", "show", "sales", "--json"),
    ("share", "show", "sale"),
    ("share", "show", "../admins"),
    ("share", "show", ""),
    ("share", "export", "--recipients"),
    ("share", "export", "sales", "--ids", "--json"),
    ("share", "export", "sales", "retuns"),
    ("recipient", "create", "new", "--comment", "New one", "--token-lifetime", "30d"),
    ("recipient", "create", "new", "--profile", "other.share"),
    ("recipient", "create", "a b/c"),
    ("recipient", "create", "later", "--activation"),
    ("recipient", "rotate", "acme", "--oauth", "--json"),
    ("recipient", "rotate", "acme", "--grace", "24h"),
    ("recipient", "rotate", "acme", "--grace", "24h", "--force"),
    ("recipient", "rotate", "acme", "--token-lifetime", "900d", "--profile", "x.share"),
    ("recipient", "rotate", "acm", "--profile", "x.share"),
    ("recipient", "rotate", "rival", "--profile", "-"),
    ("recipient", "list"),
    ("recipient", "list", "--json"),
    ("recipient", "list", "--ending", "45d"),
    ("recipient", "show", "ACME"),
    ("recipient", "show", "acme", "--json"),
    ("recipient", "show", "acm"),
    ("access", "explain", "acme", "sales.eu.orders"),
    ("access", "explain", "acme", "sales.eu.orders", "--from", "192.0.2.1", "--json"),
    ("access", "explain", "rival", "sales.eu.orders", "--offline"),
    ("access", "explain", "acm", "sales.eu.orders"),
    ("access", "explain", "acme", "sales.eu.orderz"),
    ("access", "explain", "acme", "orders"),
    ("access", "who-can", "sales.eu.orders"),
    ("access", "who-can", "sales.eu.orders", "--offline", "--json"),
    ("access", "who-can", "sale.eu.orders"),
    ("limits",),
    ("limits", "--recipient", "ACME", "--day", "2026-11-21", "--json"),
    ("limits", "--recipient", "acm"),
    ("ledger",),
    ("ledger", "--share", "sales", "--since", "24h", "--active", "--json"),
    ("ledger", "--table", "a.b.c.d"),
    ("usage", "--since", "2026-11-01", "--until", "2026-11-03"),
    ("usage", "--by", "table", "--share", "sales", "--json"),
    ("tables",),
    ("tables", "raw", "--json"),
    ("tables", "rwa"),
    ("tasks", "list"),
    ("tasks", "list", "--status", "FAILURE", "--json"),
    ("tasks", "submit", "task.json"),
    ("tasks", "submit", "wrong.yaml"),
    ("tasks", "show", "none"),
    ("tasks", "cancel", "none"),
    ("tasks", "retry", "none"),
    ("tasks", "cancel", "--schedule", "nightly", "--yes"),
    ("tasks", "retry", "--operation", "TABLE_PURGE", "--dry-run"),
    ("tasks", "prune", "--older-than", "90d", "--json"),
    ("workers", "list"),
    ("workers", "list", "--json"),
    ("schedules", "list"),
    ("schedules", "list", "--json"),
    ("schedules", "show", "nightly"),
    ("schedules", "run", "nightly"),
    ("schedules", "pause", "nightly", "--json"),
    ("schedules", "resume", "nightly"),
    ("admin", "create", "sam", "--role", "admin", "--share", "sales", "--output", "sam.token"),
    ("admin", "create", "sam", "--role", "viewer", "--output", "again.token"),
    ("admin", "create", "sam", "--role", "viewer", "--replace", "--output", "new.token", "--json"),
    ("admin", "create", "max", "--role", "owner", "--share", "sales", "--output", "max.token"),
    ("admin", "list"),
    ("admin", "list", "--json"),
    ("admin", "delete", "sam"),
    ("admin", "delete", "sam"),
    ("recipient", "revoke", "acme", "--sessions", "--yes"),
    ("recipient", "revoke", "rival", "--json"),
    ("recipient", "restore", "rival", "--json"),
    ("recipient", "restore", "rivl"),
    ("recipient", "delete", "new"),
    ("recipient", "delete", "new", "--yes"),
    ("recipient", "delete", "acme", "--sessions", "--yes", "--json"),
    ("recipient", "delete", "acme", "--yes"),
    ("apply", "fewer.yaml", "--prune", "--yes"),
)


@dataclass(frozen=True)
class Place:
    """A folder in which commands run, and the options that say what they manage."""

    folder: Path
    options: tuple[str, ...]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """A database and a gateway with the same configuration, and without shares."""
    lake = tmp_path_factory.mktemp("lake")
    DeltaFolder(lake / "orders").commit(0, protocol(), metadata(), add("a.parquet"))
    settings: dict[str, Any] = {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{lake}"}],
        "limits": {"recipient": {"requests_per_minute": 6000, "files_per_day": 1000}},
        "public_url": "https://share.example",
        "admin": {},
    }
    local, remote = (tmp_path_factory.mktemp(name) for name in ("local", "remote"))
    for folder in (local, remote):
        _write_files(folder, lake)
        (folder / "gateway.yaml").write_text(json.dumps(settings))
        sluicegate(folder, "admin", "create", "ada", "--role", "owner", "--output", "ada.token")
        keep_secret((folder / "ada.token").read_text().strip())
    with running_gateway(remote) as gateway:
        (remote / "gateway.yaml").rename(remote / "other.yaml")  # which commands must not need
        server = ("--server", f"{gateway.address}/", "--token-file", str(remote / "ada.token"))
        yield {"local": Place(local, ()), "remote": Place(remote, server)}
    assert (local / "sluicegate.db").exists()


def _write_files(folder: Path, lake: Path) -> None:
    orders = {"catalog": "raw", "table": f"file://{lake}/orders", "history": True}
    shares = {
        "shares": {
            "sales": {"comment": "Daily", "schemas": {"eu": {"tables": {"orders": orders}}}},
            "returns": {"from": {"catalog": "raw"}},
        },
        "recipients": {
            "acme": {"shares": ["sales"], "allow_from": ["10.0.0.0/8"], "token_lifetime": "30d"},
            "rival": {"properties": {"country": "DE"}},
        },
    }
    (folder / "shares.yaml").write_text(json.dumps(shares, indent=1))
    (folder / "wrong.yaml").write_text(WRONG)
    (folder / "unknown.yaml").write_text(UNKNOWN)
    (folder / "lost.yaml").write_text(LOST)
    (folder / "fewer.yaml").write_text("shares: {sales: {comment: Hourly}}\n")
    (folder / "task.json").write_text(json.dumps(task_body()))


_MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r"slga_[0-9a-f]+", "LINK"),
    (r"\b[A-Za-z0-9_.-]{40,}\b", "SECRET"),
    (r"https?://127\.0\.0\.1:\d+", "URL"),
)


def _masked(text: str) -> str:
    for pattern, name in _MASKS:
        text = re.sub(pattern, name, text)
    return re.sub(r" {2,}", "  ", text)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> Callable[..., Outcome]:
    """Run a command in a place; its exit code, output and errors."""
    for name in ("SLUICEGATE_CONFIG", "SLUICEGATE_SERVER", "SLUICEGATE_ADMIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run_command(place: Place, *arguments: str) -> Outcome:
        monkeypatch.chdir(place.folder)
        code = run((*arguments, *place.options))
        shown, errors = capfd.readouterr()
        return code, shown, errors

    return run_command


def test_commands_print_the_same_with_a_server(
    places: dict[str, Place], command: Callable[..., Outcome]
) -> None:
    differences = []
    for arguments in COMMANDS:
        local, remote = (command(place, *arguments) for place in places.values())
        shown, expected = ((code, *map(_masked, texts)) for code, *texts in (remote, local))
        if shown != expected or "error: unexpected" in local[2]:
            differences.append((arguments, expected, shown))
    assert not differences, "\n".join(map(str, differences))
    assert _profiles(places["local"]) == _profiles(places["remote"])


@pytest.mark.parametrize(
    ("filters", "has_records"),
    [
        ((), True),
        (("--outcome", "refused"), True),
        (("--admin", "ADA", "--action", "applySharesFile", "--json"), True),
        (("--since", "1d", "--limit", "2", "--json"), True),
        (("--share", "sales", "--resource", "SALES.eu"), True),
        (("--rule", "role", "--address", "127.0.0.1"), True),
        (("--request-id", "none"), False),
        (("--recipient", "acme"), False),
    ],
)
def test_audit_records_are_found_at_a_gateway(
    places: dict[str, Place],
    command: Callable[..., Outcome],
    filters: tuple[str, ...],
    has_records: bool,
) -> None:
    place = places["remote"]
    command(place, "apply", "shares.yaml", "--offline")
    for table in ("sales.eu.orders", "a.b.c"):
        command(place, "access", "who-can", table)
    # Each search is a record, too, which the next one must not find.
    wanted = ("--until", datetime.now(UTC).isoformat(), *filters)
    found = command(place, "audit", "search", *wanted)
    here = Place(place.folder, ("--config", "other.yaml"))
    assert command(here, "audit", "search", *wanted) == found
    assert found[0] == 0
    assert bool(found[1]) == has_records


def _profiles(place: Place) -> dict[str, set[str]]:
    files = place.folder.glob("*.share")
    return {file.name: {*json.loads(file.read_text())} for file in files}
