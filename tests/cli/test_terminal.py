"""Colours and progress: in terminals, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.process.terminal import run_in_terminal
from support.servers.migrated import new_sqlite

from sluicegate.cli.main import run

COMMAND = [sys.executable, "-m", "sluicegate.cli"]
SHARES = 'shares: {sales: {schemas: {eu: {tables: {t: {catalog: raw, table: "file:///srv/absent"}}}}}}'
GREEN, RED = "\x1b[32m", "\x1b[31m"
PROGRESS = "looking up sources in their catalogs: 1 of 1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("SLUICEGATE_CONFIG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    (tmp_path / "shares.yaml").write_text(SHARES)
    return tmp_path


def test_a_terminal_shows_colours_and_progress(folder: Path) -> None:
    code, shown = run_in_terminal("apply", "shares.yaml", "--dry-run", folder=folder)
    assert code == 2
    assert f"{GREEN}+ share sales" in shown
    assert f"{PROGRESS}\r\x1b[K" in shown
    (folder / "shares.yaml").write_text("nonsense: {}")
    assert f"{RED}error:" in run_in_terminal("apply", "shares.yaml", folder=folder)[1]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_shows_no_colours_if_they_are_not_wanted(
    folder: Path, environment: dict[str, str]
) -> None:
    shown = run_in_terminal("apply", "shares.yaml", folder=folder, environment=environment)[1]
    assert "+ share sales" in shown
    assert "\x1b[3" not in shown
    assert (PROGRESS in shown) is ("TERM" not in environment)


def test_a_pipe_gets_plain_text(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "apply", "shares.yaml"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert PROGRESS not in done.stderr


def test_colours_can_be_forced_but_json_has_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["apply", "shares.yaml", "--dry-run"]) == 2
    assert f"{GREEN}+ share sales" in capfd.readouterr().out
    assert run(["apply", "shares.yaml", "--dry-run", "--json"]) == 2
    assert "\x1b" not in capfd.readouterr().out
    assert run(["share", "show", "nothing"]) == 1
    assert capfd.readouterr().err == f"{RED}error:\x1b[0m there is no share 'nothing'\n"


def test_an_unknown_command_is_refused_with_the_most_similar_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for arguments, known in ((["recipent", "list"], "recipient"), (["recipient", "rotat"], "rotate")):
        assert run(arguments) == 2
        assert f"Did you mean '{known}'" in capfd.readouterr().err.splitlines()[-1]


def test_a_pipe_that_is_closed_early_is_quiet(folder: Path) -> None:
    shares = "".join(f"  share-{number}: {{}}\n" for number in range(2000))
    (folder / "shares.yaml").write_text(f"shares:\n{shares}")
    assert run(["apply", "shares.yaml"]) == 0
    pipe = f"{sys.executable} -m sluicegate.cli share list | head -n 1"
    done = subprocess.run(["/bin/bash", "-c", pipe], capture_output=True, text=True, check=False)
    assert (done.stdout.split()[0], done.stderr) == ("NAME", "")
