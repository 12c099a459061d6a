"""How the command takes its configuration, and how it ends."""

from __future__ import annotations

import os
import re
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
from sluicegate.cli.main import build_cli, run

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


COMPLETION = {"_SLUICEGATE_COMPLETE": "bash_complete", "COMP_WORDS": "sluicegate ", "COMP_CWORD": "1"}


@pytest.mark.parametrize(
    ("arguments", "environment", "shown"),
    [
        (["--version"], {}, ["sluicegate"]),
        (["--help"], {}, [*commands.MODULES, "greet"]),
        ([], COMPLETION, [*commands.MODULES, "greet"]),
    ],
)
def test_what_shows_no_results_imports_no_plugin_and_nothing_heavy(
    folder: Path, site: Site, arguments: list[str], environment: dict[str, str], shown: list[str]
) -> None:
    (folder / "gateway.yaml").write_text("plugins: [greet]")
    site.install("greet", "raise RuntimeError", command="greet")
    heavy = ("asyncio", "pydantic", "ruamel", "sqlalchemy", "starlette", "sluicegate.config")
    code = (
        "import sys\nfrom sluicegate.cli.main import main\n"
        f"try: main({arguments!r})\nexcept SystemExit as end: code = end.code\n"
        f"print(code, [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment, "PYTHONPATH": str(site.folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "0 []\n"
    assert all(name in done.stdout for name in shown)


def test_commands_are_listed_with_the_first_sentence_of_their_help() -> None:
    group = build_cli()
    found = {name: group.get_command(click.Context(group), name) for name in commands.MODULES}
    assert {
        name: command and command.get_short_help_str(200) for name, command in found.items()
    } == commands.MODULES


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
        command="greet",
    )
    assert run(["greet"]) == 0
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hello\n")
    assert re.search(r"^  greet +A command of sluicegate-greet\.$", out, re.MULTILINE)
    assert run(["tables", "--help"]) == 0
    assert "List the tables, or other assets, of all catalogs" in capsys.readouterr().out


def test_a_command_of_a_plugin_that_is_not_enabled_says_so(
    folder: Path, capsys: Capture, site: Site
) -> None:
    site.install("greet", "", command="greet")
    (folder / "gateway.yaml").write_text("{}")
    assert run(["greet"]) == 2
    expected = (
        "'greet' is a command of sluicegate-greet, whose plugin is not enabled: "
        "add its section, or its name under 'plugins', to gateway.yaml"
    )
    assert expected in capsys.readouterr().err


def test_a_command_of_a_plugin_without_a_configuration_names_the_file(
    capsys: Capture, site: Site
) -> None:
    site.install("greet", "", command="greet")
    assert run(["greet"]) == 1
    assert capsys.readouterr().err == "error: gateway.yaml: No such file or directory\n"


def test_help_works_beside_a_broken_configuration(folder: Path, capsys: Capture) -> None:
    (folder / "gateway.yaml").write_text("plugins: [")
    assert run(["--help"]) == 0
    captured = capsys.readouterr()
    assert "serve" in captured.out
    assert captured.err == ""


def test_a_plugins_catalog_adds_no_command(folder: Path, site: Site, capsys: Capture) -> None:
    (folder / "gateway.yaml").write_text("plugins: [uc]")
    site.install("uc", CATALOG)
    assert run(["uc"]) == 2
    assert "No such command 'uc'" in capsys.readouterr().err
