"""The pages that are made from the code say what the code says."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from sluicegate import api
from sluicegate.cli.discovery import MODULES
from sluicegate.config import Settings
from sluicegate.config.sections.admin import AdminIssuerSettings
from sluicegate.plugins import hookspecs

DOCS = Path(__file__).resolve().parents[2] / "docs"
PLUGIN_PAGES = ("hooks.md", "kit.md", "values.md")
SUITES = (
    *("CatalogBehaviour", "StorageBehaviour", "FormatBehaviour", "PolicyBehaviour"),
    *("AuthenticatorBehaviour", "TokenBindingBehaviour", "TaskExecutorBehaviour"),
)
HOOKS = [name for name in vars(hookspecs) if name.startswith("sluicegate_")]


def test_the_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_heading_with_its_signature(hook: str) -> None:
    page = (DOCS / "plugins" / "hooks.md").read_text(encoding="utf-8")
    (heading,) = [line for line in page.splitlines() if line.startswith(f"## `{hook}(")]
    assert " -> " in heading


def test_every_public_name_of_the_api_has_a_heading() -> None:
    # In the repository, without the site: that is all that an external author of a plugin has.
    text = "".join((DOCS / "plugins" / name).read_text(encoding="utf-8") for name in PLUGIN_PAGES)
    headings = {match[1] for match in re.finditer(r"^###? `(\w+)", text, re.MULTILINE)}
    introduced = {"API_VERSION", "SecretStr", "hookimpl", "conditions"}
    assert sorted(set(api.__all__) - headings - introduced) == []
    assert [name for name in introduced if f"{name}`" not in text] == []


def test_the_pages_show_no_object_of_one_run() -> None:
    for name in PLUGIN_PAGES:
        assert " at 0x" not in (DOCS / "plugins" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_is_described_with_its_fixtures(suite: str) -> None:
    page = (DOCS / "plugins" / "kit.md").read_text(encoding="utf-8")
    _, _, section = page.partition(f".{suite}`\n")
    assert ", required: " in section.partition("\n## ")[0]


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_key_is_described(key: str) -> None:
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert f"| `{key}` | " in page or f"\n## `{key}`\n" in page


def test_keys_that_sections_have_in_common_are_described_once_and_named_in_each() -> None:
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    sections = [part.splitlines() for part in page.split("\n## ")]
    for one, other in itertools.combinations(sections, 2):
        assert len({row for row in one if row.startswith("| `")} & {*other}) < 3, (one[0], other[0])
    (administrators,) = [lines for lines in sections if lines[0] == "`admin.oidc[]`"]
    for key in AdminIssuerSettings.model_fields:
        assert any(f"`{key}`" in line for line in administrators), key


def test_every_hook_is_called_by_the_registry() -> None:
    registry = Path(hookspecs.__file__).parent
    code = "".join(
        path.read_text(encoding="utf-8") for path in registry.glob("*.py") if path.stem != "hookspecs"
    )
    assert [hook for hook in HOOKS if f'"{hook}"' not in code] == []


@pytest.mark.parametrize("command", MODULES)
def test_the_page_of_commands_lists_every_command(command: str) -> None:
    page = (DOCS / "operators" / "commands.md").read_text(encoding="utf-8")
    names = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| ")]
    assert any(f"`{command}`" in name for name in names)


def test_the_reference_of_commands_shows_choices_defaults_and_what_is_required() -> None:
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    _, _, admin = page.partition("\n### `sluicegate admin create`\n")
    row = next(line for line in admin.splitlines() if line.startswith("| `--role` "))
    assert row.startswith("| `--role` | `viewer`, `admin` or `owner` |  | ")
    assert row.endswith(" Required. |")
    _, _, search = page.partition("\n### `sluicegate audit search`\n")
    assert "\n| `--limit` | number from 1 to 100000 | 1000 | " in search.partition("\n## ")[0]


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    return import_module("generators.commands")


@pytest.mark.parametrize("text", ["Greet.", "Greet.\n\n\b\nExamples:\n"])
def test_a_command_without_examples_is_an_error(generator: Any, text: str) -> None:
    group = click.Group("sluicegate", commands={"greet": click.Command("greet", help=text)})
    with pytest.raises(generator.MissingExamples, match=r"^sluicegate greet: "):
        generator.page_of(group)


def test_commands_of_installed_plugins_are_described(
    generator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Greet.\n\n\b\nExample:\n  sluicegate greet\n"

    def register(cli: click.Group) -> None:
        cli.add_command(click.Command("greet", help=text))

    plugin = SimpleNamespace(sluicegate_register_commands=register)
    declared = [SimpleNamespace(name="greet", load=lambda: plugin)]
    monkeypatch.setattr(generator, "entry_points", lambda group: declared)
    assert "\n## `sluicegate greet`\n\nGreet.\n" in generator.commands_page()
