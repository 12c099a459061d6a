"""Keys that became constants are accepted without effect, and warn with their place."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from sluicegate.api import PluginConfig
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.problems import find_problems
from sluicegate.cli.main import run
from sluicegate.config import Settings, load_settings
from sluicegate.config.deprecated_keys import removed_keys_of, without_removed_keys
from sluicegate.config.model import SettingsModel
from sluicegate.config.model_keys import known_keys
from sluicegate.config.yaml import parse_document
from sluicegate.plugins import Registry, configure

UPGRADING = Path(__file__).resolve().parents[2] / "docs" / "operators" / "upgrading.md"
REMOVED = """\
server: {port: 8081, max_head: 1MB}
sharing:
  async_after: 3s
  page_token_lifetime: {env: NO_SUCH_VARIABLE}
delegation:
  retry_overrides: {TABLE_PURGE: {max_attempts: 2, jitter: 0}}
"""
POLICY = """\
policies:
- {type: opa, url: "http://127.0.0.1:8181", max_concurrency: 2}
"""


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "gateway.yaml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def warning(place: str, key: str, constant: str) -> str:
    """The warning about a removed key."""
    return (
        f"{place}: '{key}' was removed and has no effect, because the value is always {constant}: "
        "remove it"
    )


def models(kind: type[SettingsModel | PluginConfig]) -> Iterator[type[SettingsModel | PluginConfig]]:
    """The models of the gateway's settings."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("sluicegate"):
            yield each
            yield from models(each)


def test_removed_keys_have_no_effect_and_warn_with_their_place(tmp_path: Path) -> None:
    path = written(tmp_path, REMOVED)
    settings = load_settings(path)
    assert settings.server.port == 8081
    assert settings.delegation.retry_overrides["TABLE_PURGE"].max_attempts == 2
    assert settings.source.warnings == (
        warning(f"{path}:1:22", "server.max_head", "64 KiB"),
        warning(f"{path}:3:3", "sharing.async_after", "2 seconds"),
        warning(f"{path}:4:3", "sharing.page_token_lifetime", "one hour"),
        warning(f"{path}:6:52", "delegation.retry_overrides.TABLE_PURGE.jitter", "0.1"),
    )


def test_config_check_reports_removed_keys_of_all_sections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, REMOVED + POLICY)
    assert run(["config", "check", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["problems"] == []
    lines = shown.err.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "warning: " + warning(
        f"{path}:8:45", "policies.0.max_concurrency", "16 requests"
    )


def test_services_log_removed_keys_of_plugins(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, POLICY)
    settings = load_settings(path)
    configured = configure(settings, Registry.load(settings))
    with caplog.at_level(logging.WARNING):
        configured.log_warnings()
    assert caplog.messages == [warning(f"{path}:2:45", "policies.0.max_concurrency", "16 requests")]


def test_a_similar_unknown_key_gets_no_removed_key_as_a_suggestion(tmp_path: Path) -> None:
    path = written(tmp_path, "server: {max_heads: 1MB}\n")
    with pytest.raises(ConfigurationError) as refused:
        load_settings(path)
    assert "unknown key 'max_heads'" in refused.value.message
    assert "max_head'?" not in refused.value.message


def test_a_file_with_problems_is_also_checked_for_removed_keys(tmp_path: Path) -> None:
    path = written(tmp_path, "server: {port: x, max_head: 1MB}\n")
    problems, warnings = find_problems(path)
    assert [each.line for each in problems] == [1]
    assert warnings == (warning(f"{path}:1:19", "server.max_head", "64 KiB"),)


class _Old(SettingsModel):
    removed_keys: ClassVar[Mapping[str, str]] = {"size": "9"}

    name: str = ""


class _Older(_Old):
    removed_keys: ClassVar[Mapping[str, str]] = {"depth": "2"}


class _Around(SettingsModel):
    one: _Older | None = None
    listed: tuple[Annotated[_Old | str, "text"], ...] = ()
    named: Mapping[str, _Old] = {}


@pytest.mark.parametrize(
    ("text", "kept", "found"),
    [
        ("one: {size: 1, name: a, depth: 3}", {"one": {"name": "a"}}, ["one.size", "one.depth"]),
        ("listed: [a, {size: 1}]", {"listed": ["a", {}]}, ["listed.1.size"]),
        ("named: {size: {size: 1}}", {"named": {"size": {}}}, ["named.size.size"]),
        ("{size: 1, one: 3, named: []}", {"size": 1, "one": 3, "named": []}, []),
        ("[size]", ["size"], []),
    ],
)
def test_where_removed_keys_are_found(text: str, kept: Any, found: list[str]) -> None:
    document, warnings = without_removed_keys(_Around, parse_document(text, Path("f")))
    assert document.data == kept
    assert [each.split("'")[1] for each in warnings] == found


def test_a_section_with_the_name_of_its_plugin_is_named_as_in_the_file() -> None:
    document = parse_document("plugins: [{type: own, size: 1}]", Path("f"))
    moved = replace(document, written={("plugins", "0"): ("own",)})
    _, warnings = without_removed_keys(_Old, moved.section("plugins", 0))
    assert warnings == (warning("f:1:23", "own.size", "9"),)


ALL = [
    (model, key)
    for base in (SettingsModel, PluginConfig)
    for model in models(base)
    for key in removed_keys_of(model)
]


@pytest.mark.parametrize(("model", "key"), ALL)
def test_a_removed_key_is_no_setting_and_the_upgrade_page_names_it(
    model: type[SettingsModel | PluginConfig], key: str
) -> None:
    assert key not in known_keys(model, ())
    rows = [row for row in UPGRADING.read_text(encoding="utf-8").splitlines() if f"{key}`" in row]
    assert any(removed_keys_of(model)[key] in row for row in rows)


def test_the_settings_of_the_gateway_have_removed_keys() -> None:
    assert len(ALL) > 5
    assert removed_keys_of(Settings) == {}
