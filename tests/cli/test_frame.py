"""How the command takes its configuration, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from support.process.installed import CATALOG, Site

from sluicegate import __version__
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli import discovery as commands
from sluicegate.cli.main import run

COMMAND = [sys.executable, "-m", "sluicegate.cli"]
FRAME = import_module("sluicegate.cli.main")  # the package's `main` is the function
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    monkeypatch.delenv("SLUICEGATE_DEBUG", raising=False)
    return tmp_path


def test_the_version_is_the_distributions(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"sluicegate {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--config", "other.yaml", "config", "check"],
        ["config", "--config", "other.yaml", "check"],
        ["config", "check", "--config", "other.yaml"],
        ["config", "check", "other.yaml"],
        ["--config", "nowhere.yaml", "config", "check", "--config", "other.yaml"],
    ],
)
def test_the_configuration_is_named_before_or_after_the_command(
    folder: Path, capsys: Capture, arguments: list[str]
) -> None:
    (folder / "other.yaml").write_text("")
    assert run(arguments) == 0
    assert capsys.readouterr().out == "other.yaml: ok\n"


def test_the_environment_names_the_configuration_unless_the_command_line_does(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICEGATE_CONFIG", "from-environment.yaml")
    for name in ("from-environment.yaml", "given.yaml"):
        (folder / name).write_text("")
    assert run(["config", "check"]) == 0
    assert run(["config", "check", "--config", "given.yaml"]) == 0
    assert capsys.readouterr().out == "from-environment.yaml: ok\ngiven.yaml: ok\n"


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["plugins", "--nonsense"], 2, "No such option"),
        (["tables", "a", "b", "c"], 2, "unexpected extra argument"),
        (["tables"], 1, "error: gateway.yaml: No such file or directory\n"),
        (["tables", "--config", "x.yaml"], 1, "error: x.yaml: No such file or directory\n"),
    ],
)
def test_errors_are_lines_on_standard_error(
    capsys: Capture, arguments: list[str], code: int, expected: str
) -> None:
    assert run(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err


def failing(error: BaseException) -> Callable[..., click.Group]:
    def build() -> click.Group:
        def fail() -> None:
            raise error

        return click.Group(commands={"fail": click.Command("fail", callback=fail)})

    return build


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (ConfigurationError("one\ntwo", detail="hunter2"), 1, "error: one\nerror: two\n"),
        (OSError(28, "No space left on device", "gateway.db"), 1, "error: gateway.db: No space left"),
        (KeyError("hunter2"), 1, "error: unexpected KeyError; set SLUICEGATE_DEBUG=1 for a"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
)
def test_every_failure_is_an_exit_code_and_never_a_traceback(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, expected: str
) -> None:
    monkeypatch.setattr(FRAME, "build_cli", failing(error))
    assert run(["fail"]) == code
    shown = capsys.readouterr().err
    assert shown.lstrip("\n").startswith(expected)
    assert "hunter2" not in shown


def test_debugging_shows_where_it_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEGATE_DEBUG", "1")
    monkeypatch.setattr(FRAME, "build_cli", failing(KeyError("x")))
    with pytest.raises(KeyError):
        run(["fail"])


def test_a_broken_pipe_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, "config", "schema"], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert done.stderr == b""


def test_an_interrupt_is_quiet(folder: Path) -> None:
    os.mkfifo(folder / "gateway.yaml")
    # Opening the pipe returns once the command waits for its configuration at the other end.
    with (
        subprocess.Popen([*COMMAND, "config", "check"], stderr=subprocess.PIPE) as process,
        (folder / "gateway.yaml").open("wb"),
    ):
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate()
    assert process.returncode == 130
    assert shown.strip() == b""


def test_help_imports_nothing_heavy() -> None:
    heavy = ("sqlalchemy", "starlette", "pyarrow", "ruamel", "obstore", "uvicorn")
    code = (
        "import sys; from sluicegate.cli.main import run; code = run(['--help']);"
        f"print(code, [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
    assert all(name in done.stdout for name in commands.MODULES)


def test_commands_of_enabled_plugins_are_listed_and_run(
    folder: Path, capsys: Capture, site: Site
) -> None:
    (folder / "gateway.yaml").write_text("plugins: [greet]")
    site.install(
        "greet",
        "import click\nfrom sluicegate.api import hookimpl\n"
        "@hookimpl\ndef sluicegate_register_commands(cli):\n"
        "    cli.add_command(click.Command('greet', callback=lambda: click.echo('hello')))\n"
        "    cli.add_command(click.Command('tables', callback=lambda: click.echo('mine')))\n",
    )
    assert run(["greet"]) == 0
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hello\n")
    assert "  greet" in out
    assert run(["tables", "--help"]) == 0
    assert "List the tables, or other assets, of all catalogs" in capsys.readouterr().out


def test_help_works_beside_a_broken_configuration(folder: Path, capsys: Capture) -> None:
    (folder / "gateway.yaml").write_text("plugins: [no-such-plugin]")
    assert run(["--help"]) == 0
    captured = capsys.readouterr()
    assert "serve" in captured.out
    assert "note: plugin commands are not listed" in captured.err


def test_a_plugins_catalog_adds_no_command(folder: Path, site: Site, capsys: Capture) -> None:
    (folder / "gateway.yaml").write_text("plugins: [uc]")
    site.install("uc", CATALOG)
    assert run(["uc"]) == 2
    assert "No such command 'uc'" in capsys.readouterr().err
