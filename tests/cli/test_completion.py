"""Completion in shells, as their scripts call it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from support.servers.migrated import new_sqlite

from sluicegate.cli.main import run

SHARES = """
shares: {sales: {}, Sandbox: {}, logs: {}, "sa$(id)": {}}
recipients: {acme: {}, beta: {}}
"""
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
BASH = shutil.which("bash") or "bash"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> Path:
    """A folder with shares and recipients in its database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}, rest: {type: paths}}")
    (tmp_path / "shares.yaml").write_text(SHARES)
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    capfd.readouterr()
    return tmp_path


def complete(monkeypatch: pytest.MonkeyPatch, capfd: Capture, line: str) -> list[str]:
    """What bash is offered for a line. Nothing may appear on standard error."""
    words = line.split(" ")
    with monkeypatch.context() as context:
        context.setenv("_SLUICEGATE_COMPLETE", "bash_complete")
        context.setenv("COMP_WORDS", line)
        context.setenv("COMP_CWORD", str(len(words) - 1))
        with suppress(SystemExit):  # click ends the process
            run([])
    shown = capfd.readouterr()
    assert shown.err == ""
    return [offer.partition(",")[2] for offer in shown.out.split()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sluicegate sha", ["share"]),
        ("sluicegate recipient re", ["restore", "revoke"]),
        ("sluicegate share show sa", ["sales", "Sandbox"]),
        ("sluicegate share export logs SAL", ["sales"]),
        ("sluicegate recipient rotate a", ["acme"]),
        ("sluicegate recipient create a", []),
        ("sluicegate ledger --recipient ", ["acme", "beta"]),
        ("sluicegate ledger --share l", ["logs"]),
        ("sluicegate tables r", ["raw", "rest"]),
        ("sluicegate apply --dry", ["--dry-run"]),
    ],
)
def test_commands_options_and_names_are_completed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Capture,
    line: str,
    offered: list[str],
) -> None:
    assert complete(monkeypatch, capfd, line) == offered


def test_the_configuration_can_be_named_in_the_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.chdir(folder.parent)
    database = f"database: sqlite:///{folder}/sluicegate.db\n"
    (folder / "other.yaml").write_text(database)
    line = f"sluicegate --config {folder}/other.yaml share show lo"
    assert complete(monkeypatch, capfd, line) == ["logs"]


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("nonsense: [", "sluicegate share show s"),
        ("nonsense: [", "sluicegate absent x"),
        ("plugins: [absent]", "sluicegate absent x"),
        ("database: sqlite:///gateway.yaml", "sluicegate share show s"),
        ("database: postgresql://127.0.0.1:9/x", "sluicegate recipient show a"),
    ],
)
def test_failures_are_silent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture, config: str, line: str
) -> None:
    (folder / "gateway.yaml").write_text(config)
    assert complete(monkeypatch, capfd, line) == []


def test_completion_creates_no_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}")
    assert complete(monkeypatch, capfd, "sluicegate share show s") == []
    assert [path.name for path in tmp_path.iterdir()] == ["gateway.yaml"]


def test_bash_completes_with_the_script(folder: Path) -> None:
    lines = (
        'eval "$(sluicegate completion bash)"',
        "complete -p sluicegate",
        "COMP_WORDS=(sluicegate share show sa) COMP_CWORD=3",
        "_sluicegate_completion sluicegate sa show",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    )
    done = subprocess.run(
        [BASH, "--norc", "-c", "\n".join(lines)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _sluicegate_completion sluicegate",
        "sales",
        "Sandbox",
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_valid(shell: str, capfd: Capture, tmp_path: Path) -> None:
    assert run(["completion", shell]) == 0
    script = capfd.readouterr().out
    assert "_SLUICEGATE_COMPLETE=" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        done = subprocess.run([shell, "-n", "script"], cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
