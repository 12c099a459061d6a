"""The section `delegation`, checked where it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process.installed import Site, installed_site

from sluicegate.cli.main import run

PURGE = """
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, hookimpl

class Config(PluginConfig):
    lake: str

class Purge(TaskExecutor):
    async def run(self, task, resources, run):
        raise NotImplementedError

@hookimpl
def sluicegate_register_task_executors():
    name = __name__.removeprefix("plugin_")
    return [
        TaskExecutorType(
            name, ("TABLE_PURGE",), Config, lambda config, context: Purge(), lambda config: ["lake"]
        )
    ]
"""
_EXECUTOR = "executors: [{type: purge, lake: a}]"
_CLIENTS = "clients: {one: {realms: [a, 'b: c']}}"
WRONG = {
    "executors: [{type: purge}]": "lake",
    "executors: [{type: purge, lake: a}, {type: other, lake: b}]": (
        "operation 'TABLE_PURGE' is run by 'purge-1' already"
    ),
    "executors: [{type: nothing}]": "nothing",
    "retry: {max_attempts: 0}": "max_attempts",
    "retry_overrides: {purge: {max_attempts: 1}}": "retry_overrides",
    "encryption_keys: [short]": "at least 32 characters",
    "issuers: [{issuer: 'http://example.com', audience: a}]": "https://",
    "issuers: [{issuer: 'https://a', audience: a, recipients: {b: c}}]": (
        "1:59: delegation.issuers.0: unknown key 'recipients'"
    ),
    "issuers: [{issuer: 'https://a', audience: a}, {issuer: 'https://a', audience: b}]": (
        "an issuer occurs twice; use one entry with a list of audiences"
    ),
    "clients: {'a b': {}}": "clients",
    f"{_EXECUTOR}, {_CLIENTS}": "clients act for 2 realms, and none has a grant: add the",
    f"{_EXECUTOR}, {_CLIENTS}, realms: {{a: {{}}, 'b; c': {{}}}}": (
        "1:75: client 'one' acts for realm 'b: c', which is not in delegation.realms; "
        "did you mean 'b; c'?"
    ),
    f"{_EXECUTOR}, realms: {{default-realm: {{catalogs: [lakes]}}}}": (
        "no executor has a catalog 'lakes'; did you mean 'lake'?"
    ),
    f"{_EXECUTOR}, realms: {{default-realm: {{operations: [TABLE_PRUNE]}}}}": (
        "no executor runs the operation 'TABLE_PRUNE'; did you mean 'TABLE_PURGE'?"
    ),
    "realms: {default-realm: {locations: [lake/a]}}": "'lake/a' is not a location: it has no scheme",
    "realms: {default-realm: {locations: ['s3://lake/../a']}}": "remove '.', '..'",
    "lease: {ttl: 4s, heartbeat: 1s}": "ttl",
    "lease: {ttl: 60s, heartbeat: 31s}": "heartbeat must be at most half of ttl",
}


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        for name in ("purge", "other"):
            site.install(name, PURGE)
        yield site


@pytest.mark.parametrize("section", WRONG)
@pytest.mark.usefixtures("site")
def test_mistakes_are_reported(
    section: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"delegation: {{{section}}}\n")
    assert run(["config", "check", "--config", str(file)]) == 1
    assert WRONG[section] in capsys.readouterr().err


@pytest.mark.usefixtures("site")
def test_the_refusal_of_realms_without_grants_says_what_to_add(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gateway.yaml"
    before = f"delegation:\n  {_EXECUTOR}\n  {_CLIENTS}\n"
    file.write_text(before)
    assert run(["delegation", "serve", "--config", str(file)]) == 1
    _, _, section = capsys.readouterr().err.strip().partition("; realms: ")
    file.write_text(f"{before}  realms: {section}\n")
    assert run(["config", "check", "--config", str(file)]) == 0
    granted = {
        "catalogs": ["lake"],
        "locations": ["s3://bucket/prefix/"],
        "operations": ["TABLE_PURGE"],
    }
    assert json.loads(section) == {"a": granted, "b: c": granted}


@pytest.mark.usefixtures("site")
def test_the_schema_knows_executors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("delegation: {executors: [{type: purge, lake: a}]}\n")
    assert run(["config", "schema", "--config", str(file)]) == 0
    text = capsys.readouterr().out
    definitions = json.loads(text)["$defs"]
    assert definitions["executor-purge"]["required"] == ["type", "lake"]
    assert set(re.findall(r'"#/\$defs/([^"]+)"', text)) <= set(definitions)
