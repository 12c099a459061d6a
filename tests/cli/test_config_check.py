"""`config check` reports all problems of a file at once, each where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.problems import find_problems
from sluicegate.cli.main import run
from sluicegate.config import load_settings
from sluicegate.plugins import Registry, configure

Capture = pytest.CaptureFixture[str]
MISTAKES = """\
public_url: share.example.com
database: {env: NO_SUCH_URL}
signing_key: {file: missing.key}
servre: {port: 80}
server:
  port: 99999
  port: 8080
  hots: x
sharing: {presigned_url_ttl: 2 fortnights}
catalogs:
  main: {type: unityy, uri: "https://uc.example.com"}
  lake: {type: paths, schemas: {eu: "lake/eu"}}
storage:
- {prefix: "s3://acme-lake/"}
- {type: s3, prefix: "s3://lake/", regoin: x, access_key_id: a, secret_access_key: {env: NO_SUCH_KEY}}
- {type: s3, prefix: "s3://acme/", region: eu-west-1}
- {type: s3, prefix: "s3a://acme", region: eu-west-1}
authentication:
  oidc:
  - {issuer: "http://issuer.example.com", audience: gateway}
"""
REPORTED = """\
1:13: public_url: expected an http:// or https:// address
2:11: the environment variable 'NO_SUCH_URL' is not set
3:14: 'missing.key' cannot be read: No such file or directory
4:1: unknown key 'servre'; did you mean 'server'?
6:9: server.port: input should be less than or equal to 65535
7:3: the key 'port' occurs twice
8:3: server: unknown key 'hots'; did you mean 'host'?
9:30: sharing.presigned_url_ttl: expected a duration like 90d, 24h, 15m or 30s
11:16: plugin 'unityy' is enabled but not installed; did you mean 'unity'?
12:37: catalogs.lake.schemas.eu: must be a location (s3://bucket/table) or an absolute path \
(/srv/table)
14:3: storage.0: 'type' is missing
15:36: storage.1: unknown key 'regoin'; did you mean 'region'?
15:84: the environment variable 'NO_SUCH_KEY' is not set
17:22: the prefix 's3://acme/' is served by another entry already
20:14: authentication.oidc.0.issuer: expected an https:// address: over http, an attacker can \
replace the keys
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    return tmp_path


def write(text: str) -> Path:
    path = Path("gateway.yaml")
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


def reported(text: str) -> list[str]:
    path = write(text)
    problems, _ = find_problems(path)
    return [problem.text.removeprefix(f"{path}:") for problem in problems]


def start(path: Path) -> None:
    settings = load_settings(path)
    configure(settings, Registry.load(settings))


def test_fifteen_mistakes_are_fifteen_lines(capsys: Capture) -> None:
    path = write(MISTAKES)
    assert run(["config", "check"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix(f"error: {path}:") for line in lines] == REPORTED.splitlines()


def test_json_contains_positions_and_messages(capsys: Capture) -> None:
    write("server: {hots: x}")
    assert run(["config", "check", "--json"]) == 1
    message = "server: unknown key 'hots'; did you mean 'host'?"
    problem = {"line": 1, "column": 10, "message": message}
    assert json.loads(capsys.readouterr().out) == {"file": "gateway.yaml", "problems": [problem]}
    write("")
    assert run(["config", "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "\n".join(MISTAKES.splitlines()[start:end])
            for start, end in [(0, 1), (1, 2), (2, 3), (3, 4), (8, 9), (9, 11), (12, 14), (17, 20)]
        ),
        "catalogs: []",
        "- 1",
        "a: '",
        "server: {stop_timeout: 3s, shutdown_grace_period: 4s}",
        "plugins: [s3, s3]",
        "storage: [{type: paths, prefix: 's3://acme/'}]",
    ],
)
def test_a_single_problem_is_reported_as_at_startup(text: str) -> None:
    path = write(text)
    with pytest.raises(ConfigurationError) as raised:
        start(path)
    assert [f"{path}:{line}" for line in reported(text)] == raised.value.message.splitlines()


def test_consequences_of_a_problem_are_not_reported() -> None:
    unresolved = (
        "{type: s3, prefix: 's3://acme/', region: x, access_key_id: a, secret_access_key: {env: NO}}"
    )
    assert reported(f"database: {{env: NO_URL}}\nstorage: [{unresolved}]\n") == [
        "1:11: the environment variable 'NO_URL' is not set",
        "2:92: the environment variable 'NO' is not set",
    ]
    executors = "executors: [{type: sparkk}]"
    realms = "realms: {r: {catalogs: [c], operations: [PURGE], locations: ['s3://acme/']}}"
    found = reported(f"delegation: {{{executors}, {realms}}}\n")
    assert len(found) == 1
    assert "plugin 'sparkk' is enabled but not installed" in found[0]


def test_items_after_an_invalid_one_keep_their_numbers_and_lines() -> None:
    issuers = "  - {issuer: 'http://a'}\n  - {issuer: 'https://b', audience: x, leway: 1}\n"
    assert reported(f"authentication:\n  oidc:\n{issuers}") == [
        "3:5: authentication.oidc.0: 'audience' is missing",
        "3:14: authentication.oidc.0.issuer: expected an https:// address: over http, an attacker can "
        "replace the keys",
        "4:40: authentication.oidc.1: unknown key 'leway'; did you mean 'leeway'?",
    ]


def test_secrets_are_not_part_of_any_message(capsys: Capture) -> None:
    write("signing_key: a-short-secret\nservre: another-secret\n")
    assert run(["config", "check", "--json"]) == 1
    assert "secret" not in capsys.readouterr().out
