"""The help of every command shows examples, and the command accepts them."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sluicegate.cli.discovery import MODULES
from sluicegate.cli.main import build_cli, run

Names = tuple[str, ...]


def walk(command: click.Command, path: Names = ()) -> Iterator[Names]:
    """The names of a command and of all commands below it."""
    yield path
    if isinstance(command, click.Group):
        names = command.commands if path else MODULES
        for name in sorted(names):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from walk(below, (*path, name))


def find(path: Names) -> click.Command:
    command: click.Command = build_cli()
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"there is no command {' '.join(path)}"
        command = found
    return command


def examples(path: Names) -> list[list[str]]:
    """The arguments of each example after `sluicegate`."""
    shown = inspect.cleandoc(find(path).help or "")
    _, title, after = shown.partition("\b\nExample")
    lines = after.splitlines()
    assert not title or lines[0] == ("s:" if len(lines) > 2 else ":"), shown
    split = [shlex.split(line.partition(" > ")[0]) for line in lines[1:]]
    assert all(words[0] == "sluicegate" for words in split), shown
    return [words[1:] for words in split]


COMMANDS = list(walk(build_cli()))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    (tmp_path / "task.json").write_text("{}")
    (tmp_path / "audit.ndjson").touch()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_shows_an_example(
    path: Names, capsys: pytest.CaptureFixture[str]
) -> None:
    assert examples(path)
    assert run([*path, "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for arguments in examples(path):
        start = shlex.join(["sluicegate", *arguments[:2]])
        assert any(line.startswith(start) for line in lines), "the example is not on its own line"


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        pytest.param(path, arguments, id=shlex.join(arguments))
        for path in COMMANDS
        for arguments in examples(path)
    ],
)
def test_every_example_is_accepted_by_the_command_that_shows_it(
    path: Names, arguments: list[str]
) -> None:
    assert tuple(arguments[: len(path)]) == path
    used: Names = ()
    while isinstance(find(used), click.Group):
        used = (*used, arguments[len(used)])
    # Parses the arguments, and converts their values, without running the command.
    with find(used).make_context(" ".join(used), arguments[len(used) :]) as context:
        assert context.command.name == used[-1]


# Commands whose output programs do not read, or that print JSON always.
WITHOUT_JSON = {
    "audit export": "prints JSON lines, or CSV with --format",
    "completion": "prints a script",
    "config schema": "prints a JSON Schema",
    "delegation serve": "runs until a signal",
    "delegation worker": "runs until a signal",
    "demo": "shows a person what the gateway does",
    "serve": "runs until a signal",
}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_with_results_prints_them_as_json(path: Names) -> None:
    command = find(path)
    if not isinstance(command, click.Group) or command.invoke_without_command:
        options = {option for parameter in command.params for option in parameter.opts}
        assert ("--json" in options) is not (" ".join(path) in WITHOUT_JSON)
