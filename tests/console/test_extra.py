"""The console is loaded only if it is configured, and then needs its extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_SERVE = """
import asyncio, json, sys
from sluicegate.app import Gateway
from sluicegate.config import Settings
if sys.argv[2] == "missing":
    sys.modules["jinja2"] = None
async def run():
    settings = Settings.model_validate(json.loads(sys.argv[1]))
    async with Gateway.running(settings) as gateway:
        return [each.path for each in gateway.routes() if each.path.startswith("/console")]
try:
    paths = asyncio.run(run())
    loaded = [name for name in sys.modules if name.startswith(("jinja2", "sluicegate.admin.console"))]
    print(json.dumps([paths, loaded]))
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def served(folder: Path, jinja: str, **sections: object) -> list[object]:
    settings = {"database": f"sqlite:///{folder}/sluicegate.db", "admin": {}, **sections}
    command = [sys.executable, "-c", _SERVE, json.dumps(settings), jinja]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


_CHECK = """
import sys
if sys.argv[2] == "missing":
    sys.modules["jinja2"] = None
from sluicegate.cli.main import run
sys.exit(run(["--config", sys.argv[1], "config", "check"]))
"""


@pytest.mark.parametrize(
    ("jinja", "section", "code", "expected"),
    [
        (
            "missing",
            "console: {}",
            1,
            "gateway.yaml:2:10: console is set, but the Python module jinja2",
        ),
        ("missing", "catalogs: {}", 0, ""),
        ("installed", "console: {}", 0, ""),
    ],
)
def test_a_check_of_the_configuration_finds_that_the_extra_is_missing(
    tmp_path: Path, jinja: str, section: str, code: int, expected: str
) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"admin: {{}}\n{section}\n")
    command = [sys.executable, "-c", _CHECK, str(file), jinja]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert expected in done.stderr


@pytest.mark.parametrize("jinja", ["installed", "missing"])
def test_without_the_section_nothing_is_loaded(tmp_path: Path, jinja: str) -> None:
    paths, loaded = served(tmp_path, jinja)
    assert (paths, [name for name in list(loaded) if name != "jinja2"]) == ([], [])  # type: ignore[call-overload]


def test_without_the_extra_the_start_says_what_to_install(tmp_path: Path) -> None:
    kind, message = served(tmp_path, "missing", console={})
    assert kind == "ConfigurationError"
    assert "the Python module jinja2 is missing: pip install 'sluicegate[console]'" in str(message)
