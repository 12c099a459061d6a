"""Schedules as an operator uses them: commands, and a service that fires them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.process.installed import CATALOG, installed_site
from support.servers.delegation_processes import delegation_process, until
from support.tasks.compactor import COMPACTOR

from sluicegate.cli.main import run

Capture = pytest.CaptureFixture[str]
COMPACTION = {
    "cron": "0 0 29 2 *",
    "operation": "TABLE_COMPACTION",
    "catalog": "lake",
    "tables": ["*.*"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site")
    with installed_site(folder) as installed:
        installed.install("compactor", COMPACTOR)
        installed.install("fake", CATALOG)
        yield folder


@pytest.fixture
def folder(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    configure(tmp_path, {"rare": COMPACTION})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, schedules: dict[str, Any], **changed: Any) -> None:
    """Write the configuration."""
    section = {
        "executors": [{"type": "compactor"}],
        "worker": {"poll_interval": "1s"},
        "schedules": schedules,
    }
    settings = {
        "database": f"sqlite:///{folder}/tasks.db",
        "catalogs": {"lake": {"type": "fake", "uri": "https://catalog.example"}},
        "delegation": section | changed,
    }
    (folder / "gateway.yaml").write_text(json.dumps(settings))


def command(capture: Capture, *arguments: str) -> str:
    """What a command prints."""
    assert run(arguments) == 0, capture.readouterr().err
    return capture.readouterr().out.rstrip("\n")


def test_a_service_submits_and_runs_the_tasks_of_a_schedule(
    folder: Path, site: Path, capsys: Capture
) -> None:
    firing = command(capsys, "schedules", "run", "rare")
    with delegation_process(folder, site, "serve", "--port", "0", "--with-worker") as service:
        service.address()
        until(lambda: "1 SUCCESS" in command(capsys, "schedules", "list"))
        assert service.stop(signal.SIGTERM) == 0
    [task] = json.loads(command(capsys, "tasks", "list", "--schedule", "rare", "--json"))
    assert (task["status"], task["firing_id"], task["schedule"]) == ("SUCCESS", firing, "rare")
    assert task["result_summary"] == "compacted orders"
    assert json.loads(command(capsys, "tasks", "list", "--schedule", "other", "--json")) == []
    shown = json.loads(command(capsys, "schedules", "show", "rare"))
    assert [each["tasks"] for each in shown["firings"]] == [{"SUCCESS": 1}]


@pytest.mark.usefixtures("folder")
def test_schedules_are_listed_paused_and_resumed(capsys: Capture) -> None:
    header, line = command(capsys, "schedules", "list").splitlines()
    assert header.split() == [
        *("NAME", "OPERATION", "CRON", "TIME", "ZONE", "STATE", "NEXT", "LAST", "RESULT")
    ]
    assert line.split() == [
        *("rare", "TABLE_COMPACTION", "0", "0", "29", "2", "*", "UTC", "active"),
        *("2028-02-29T00:00:00.000Z", "-", "-"),
    ]
    assert command(capsys, "schedules", "pause", "rare").endswith(" by command")
    assert "paused" in command(capsys, "schedules", "list")
    resumed = command(capsys, "schedules", "resume", "rare")
    assert resumed == "fires next at 2028-02-29T00:00:00.000Z"
    assert len(command(capsys, "schedules", "run", "rare")) == 36
    assert "SUBMITTING: no tasks yet" in command(capsys, "schedules", "list")
    assert run(("schedules", "run", "rare")) == 1
    assert "an earlier firing still submits tasks" in capsys.readouterr().err
    assert run(("schedules", "pause", "rar")) == 1
    assert "did you mean 'rare'?" in capsys.readouterr().err


def test_selected_tasks_are_cancelled_and_retried(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        operation = ("TABLE_COMPACTION", "TABLE_VACUUM")[number % 2]
        (folder / "task.json").write_text(json.dumps(payload(f"t{number}", operation)))
        command(capsys, "tasks", "submit", "task.json")
    assert run(("tasks", "cancel", "--operation", "TABLE_VACUUM", "--dry-run")) == 0
    shown = capsys.readouterr().err
    assert "TABLE_VACUUM SUBMITTED: 6" in shown
    assert "cancel would change 6 tasks" in shown
    assert len(listed(capsys, "SUBMITTED")) == 12
    monkeypatch.setattr("sluicegate.cli.terminal.can_prompt", lambda: True)
    monkeypatch.setattr("click.confirm", lambda question, err: False)
    assert run(("tasks", "cancel", "--operation", "TABLE_VACUUM")) == 1
    assert "nothing changed" in capsys.readouterr().err
    assert len(listed(capsys, "SUBMITTED")) == 12
    done = command(capsys, "tasks", "cancel", "--operation", "TABLE_VACUUM", "--yes")
    assert done == "6 tasks: cancelled, or to be cancelled"
    assert len(listed(capsys, "SUBMITTED")) == 6
    assert command(capsys, "tasks", "cancel", "--operation", "TABLE_VACUUM", "--yes") == ""
    # The table of one of them has another task now, so that one cannot be retried.
    (folder / "task.json").write_text(json.dumps(payload("t1", "TABLE_COMPACTION")))
    command(capsys, "tasks", "submit", "task.json")
    assert run(("tasks", "retry", "--operation", "TABLE_VACUUM", "--yes")) == 0
    output = capsys.readouterr()
    assert output.out == "5 tasks: to be retried; 1 left unchanged\n"
    assert "another task for this table is not finished yet" in output.err
    assert len(listed(capsys, "FAILURE")) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("cancel",), 1, "select tasks by --operation, --realm, --schedule or --status"),
        (("retry", "--yes"), 1, "select tasks by --operation, --realm or --schedule"),
        (("cancel", "abc", "--schedule", "rare"), 2, "but not both"),
        (("retry", "--schedule", "rare"), 0, "no tasks to retry"),
    ],
)
def test_tasks_must_be_selected(
    arguments: tuple[str, ...], code: int, message: str, capsys: Capture
) -> None:
    assert run(("tasks", *arguments)) == code
    assert message in capsys.readouterr().err


def payload(table: str, operation: str) -> dict[str, Any]:
    identity = {
        "table_entity_id": table,
        "catalog_name": "lake",
        "namespace_levels": ["eu"],
        "table_name": table,
    }
    return {
        "common_payload": {"operation_type": operation, "realm_identifier": "default-realm"},
        "operation_parameters": {"table_identity": identity},
    }


def listed(capture: Capture, status: str) -> list[Any]:
    found: list[Any] = json.loads(command(capture, "tasks", "list", "--status", status, "--json"))
    return found


PURGES = COMPACTION | {"operation": "TABLE_PURGE"}
GRANTS = {"default-realm": {"catalogs": ["lakes"], "operations": ["TABLE_VACUUM"]}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"cron": "0 0 * *"}, "expected five fields"),
    ({"cron": "0 0 0 * * *"}, "expected five fields"),
    ({"cron": "0 25 * * *"}, "look at its field 'hour'"),
    ({"cron": "0 0 31 2 *"}, "look at its field 'day of month'"),
    ({"time_zone": "Europe/Berlino"}, "there is no time zone 'Europe/Berlino'"),
    ({"time_zone": "../../etc/passwd"}, "there is no time zone"),
    ({"window": "22-04"}, "such as 22:00-04:00"),
    ({"window": "22:00-22:00"}, "the window is empty"),
    ({"tables": ["orders"]}, "expected NAMESPACE.TABLE"),
    ({"tables": []}, "at least 1 item"),
    ({"exclude": ["sales."]}, "expected NAMESPACE.TABLE"),
    ({"operation": "TABLE_COMPACTIONS"}, "did you mean 'TABLE_COMPACTION'?"),
    ({"catalog": "lakes"}, "has no catalog 'lakes'; did you mean 'lake'?"),
    ({"listing_catalog": "other"}, "catalogs has no entry 'other'"),
    ({"realm": "prod"}, "the realm 'prod' has no grants in delegation.realms"),
    ({"max_task": 3}, "did you mean 'max_tasks'?"),
    ({"properties": {"retain_last": 10}}, "expected a string"),
    ({"catch_up": "8d"}, "less than or equal to 604800"),
    ({"after": "rare"}, "set either cron or after"),
    ({"cron": None}, "set either cron or after"),
    ({"cron": None, "after": "rarer"}, "there is no schedule 'rarer'; did you mean 'rare'?"),
    ({"cron": None, "after": "rare"}, "the schedule 'rare' would have to wait for itself"),
    (PURGES, "a schedule must name their namespace without '*'"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_mistakes_in_schedules_are_reported(
    folder: Path, capsys: Capture, changed: dict[str, Any], message: str
) -> None:
    configure(folder, {"rare": COMPACTION | changed})
    assert run(("config", "check")) == 1
    assert message in capsys.readouterr().err


def test_all_mistakes_are_reported_at_once(folder: Path, capsys: Capture) -> None:
    schedules = {
        "one": COMPACTION | {"cron": "x"},
        "two": COMPACTION,
        "a b": COMPACTION,
    }
    configure(folder, schedules, realms=GRANTS)
    assert run(("config", "check")) == 1
    errors = capsys.readouterr().err
    for message in (
        "expected five fields",
        "is not granted the operation 'TABLE_COMPACTION'",
        "is not granted the catalog 'lake': add it to delegation.realms.default-realm.catalogs",
        "no executor has a catalog 'lakes'",
        "a b",
    ):
        assert message in errors


def test_chains_must_begin_with_a_cron_expression(folder: Path, capsys: Capture) -> None:
    chained = {name: value for name, value in COMPACTION.items() if name != "cron"}
    chain = {"one": COMPACTION, "two": chained | {"after": "one"}, "three": chained | {"after": "two"}}
    configure(folder, chain)
    assert run(("config", "check")) == 0, capsys.readouterr().err
    assert "after one" in command(capsys, "schedules", "list")
    assert command(capsys, "schedules", "resume", "two") == "fires after one"
    assert run(("schedules", "run", "two")) == 1
    assert "'two' fires only after the schedule 'one': run that one" in capsys.readouterr().err
    configure(folder, chain | {"one": chained | {"after": "three"}})
    assert run(("config", "check")) == 1
    errors = capsys.readouterr().err
    assert errors.count("would have to wait for itself") == 3


def test_names_need_no_catalog_that_lists_tables(folder: Path, capsys: Capture) -> None:
    named = COMPACTION | {"tables": ["sales.orders"], "exclude": ["*.x"]}
    purges = PURGES | {"tables": ["trash.*"], "listing_catalog": "lake"}
    configure(folder, {"named": named, "purges": purges})
    assert run(("config", "check")) == 0, capsys.readouterr().err
