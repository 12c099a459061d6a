from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings, load_settings

Write = Callable[..., Path]
KEY = "k" * 32


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, *, name: str = "gateway.yaml", mode: int = 0o600) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    return write


def problems(path: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(path)
    return [line.removeprefix(f"{path}:") for line in caught.value.message.splitlines()]


def test_an_empty_file_is_all_defaults(write: Write) -> None:
    assert load_settings(write("")).model_dump() == Settings().model_dump()


def test_settings_are_frozen(write: Write) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_settings(write("")).server.port = 1  # type: ignore[misc]


def test_values_are_typed(write: Write) -> None:
    settings = load_settings(
        write(
            "public_url: https://share.acme.example/\n"
            "sharing: {presigned_url_ttl: 2h}\n"
            "cache: {snapshots: 1GiB}\n"
            "recipients: {token_lifetime: 30d}\n"
            "telemetry: {log_format: json}\n"
        )
    )
    assert settings.public_url == "https://share.acme.example"
    assert settings.sharing.presigned_url_ttl == 7200
    assert settings.cache.snapshots == 2**30
    assert settings.recipients.token_lifetime == 30 * 86_400
    assert settings.telemetry.log_format == "json"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("servr: {}", "1:1: unknown key 'servr'; did you mean 'server'?"),
        ("server:\n  prot: 80", "2:3: server: unknown key 'prot'; did you mean 'port'?"),
        ("server: {port: 99999}", "1:16: server.port: input should be less than or equal to 65535"),
        ("server: {port: many}", "1:16: server.port: expected an integer"),
        (
            "sharing: {presigned_url_ttl: 8d}",
            "1:30: sharing.presigned_url_ttl: input should be less than",
        ),
        (
            "sharing: {presigned_url_ttl: soon}",
            "1:30: sharing.presigned_url_ttl: expected a duration like",
        ),
        (
            "recipients: {token_lifetime: 2y}",
            "1:30: recipients.token_lifetime: expected a duration like",
        ),
        (
            "recipients: {token_lifetime: 53w}",
            "1:30: recipients.token_lifetime: expected at most one year (365d)",
        ),
        ("cache: {snapshots: big}", "1:20: cache.snapshots: expected a size like"),
        ("public_url: ftp://x", "1:13: public_url: expected an http:// or https:// address"),
        ("public_url: https://a:b@x", "1:13: public_url: expected an address without user"),
        ("catalogs: {Main: {type: paths}}", "1:12: catalogs.Main: string should match pattern"),
        ("catalogs: {main: {}}", "1:18: catalogs.main: 'type' is missing"),
        ("storage: {type: s3}", "1:10: storage: expected a list"),
        ("plugins: [1]", "1:11: plugins.0: expected the name of a plugin, or an entry"),
        ("signing_key: short", "1:14: signing_key: expected at least 32 characters"),
        ("telemetry: {log_level: loud}", "1:24: telemetry.log_level: input should be 'debug'"),
        (
            "authentication: {oidc: [{audience: a}]}",
            "1:25: authentication.oidc.0: 'issuer' is missing",
        ),
        ("- a", "1:1: expected a mapping"),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(write: Write, text: str, expected: str) -> None:
    (problem,) = problems(write(text))
    assert problem.startswith(expected)


HTTPS = "authentication.oidc.0.{}: expected an https:// address"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("{issuer: https://i.example}", "authentication.oidc.0: 'audience' is missing"),
        ("{issuer: i.example, audience: a}", HTTPS.format("issuer")),
        ("{issuer: http://i.example, audience: a}", HTTPS.format("issuer")),
        (
            "{issuer: https://i.example, audience: a, jwks_uri: file:///keys}",
            HTTPS.format("jwks_uri"),
        ),
        (
            "{issuer: https://u:p@i.example, audience: a}",
            "authentication.oidc.0.issuer: expected an address without user",
        ),
        (
            "{issuer: https://i.example, audience: []}",
            "authentication.oidc.0.audience: expected at least one",
        ),
        (
            "{issuer: https://i.example, audience: 5}",
            "authentication.oidc.0.audience: expected a list",
        ),
        *(
            (
                f"{{issuer: https://i.example, audience: a, algorithms: [{algorithm}]}}",
                "authentication.oidc.0.algorithms.0: input should be 'RS256'",
            )
            for algorithm in ("none", "HS256", "rs256")
        ),
        (
            "{issuer: https://i.example, audience: a, algorithms: []}",
            "authentication.oidc.0.algorithms: expected at least one",
        ),
        (
            "{issuer: https://i.example, audience: a}, {issuer: https://i.example, audience: b}",
            "authentication.oidc: an issuer occurs twice",
        ),
    ],
)
def test_a_wrong_issuer_is_refused(write: Write, section: str, expected: str) -> None:
    (problem,) = problems(write(f"authentication: {{oidc: [{section}]}}"))
    assert problem.partition(" ")[2].startswith(expected)


def test_an_issuer_of_administrators_occurs_once(write: Write) -> None:
    issuer = "{issuer: https://i.example, audience: a, roles: {a: viewer}}"
    (problem,) = problems(write(f"admin: {{oidc: [{issuer}, {issuer}]}}"))
    assert "admin.oidc: an issuer occurs twice" in problem


@pytest.mark.parametrize("audience", ["a", "[a]", "[a, b]"])
@pytest.mark.parametrize("issuer", ["https://i.example/realm/", "http://127.0.0.1:81", "http://[::1]"])
def test_an_issuer_is_taken_as_it_is_written(write: Write, issuer: str, audience: str) -> None:
    path = write(f"authentication: {{oidc: [{{issuer: '{issuer}', audience: {audience}}}]}}")
    (oidc,) = load_settings(path).authentication.oidc
    assert (oidc.issuer, oidc.audience[0], oidc.claim) == (issuer, "a", "sub")


def test_all_problems_are_reported_in_the_order_of_the_file(write: Write) -> None:
    found = problems(write("server: {port: x}\nnope: 1\nsignin_key: y\n"))
    assert [problem.partition(":")[0] for problem in found] == ["1", "2", "3"]


def test_values_come_from_the_environment_and_from_files(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", "9001")
    write(f"  {KEY}\n", name="key.txt")
    settings = load_settings(
        write(
            "server: {port: {env: PORT}, forwarded_allow_ips: [{env: PORT}]}\n"
            "signing_key: {file: key.txt}\n"
            "catalogs: {main: {type: unity, deep: [{a: {env: PORT}}]}}\n"
        )
    )
    assert settings.server.port == 9001
    assert settings.server.forwarded_allow_ips == ("9001",)
    assert settings.signing_key == SecretStr(KEY)
    assert settings.catalogs["main"].options == {"deep": [{"a": "9001"}]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("server:\n  port: {env: NO_SUCH}", "2:9: the environment variable 'NO_SUCH' is not set"),
        ("signing_key: {file: no-such}", "1:14: '{folder}/no-such' cannot be read: No such file"),
        ("signing_key: {file: binary}", "1:14: '{folder}/binary' is not UTF-8 text"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(
    write: Write, tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff")
    (problem,) = problems(write(text))
    assert problem.startswith(expected.format(folder=tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        f"signing_key: {KEY}",
        "database: postgresql://gateway:hunter2@db/sluicegate",
        "database: postgresql://db/sluicegate?user=x&password=hunter2",
    ],
)
def test_a_literal_secret_in_a_file_that_everybody_can_read_is_refused(write: Write, text: str) -> None:
    (problem,) = problems(write(text, mode=0o644))
    assert "the file contains a secret, and every user can read it: chmod o-r" in problem
    assert KEY not in problem
    assert "hunter2" not in problem
    load_settings(write(text, mode=0o640))


@pytest.mark.parametrize(
    "text", ["", "database: sqlite:///gateway.db", "database: postgresql://gateway@db/sluicegate"]
)
def test_a_file_without_secrets_may_be_read_by_everybody(write: Write, text: str) -> None:
    load_settings(write(text, mode=0o644))


def test_a_secret_from_the_environment_needs_no_private_file(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", KEY)
    load_settings(write("signing_key: {env: KEY}", mode=0o644))


def test_a_secret_in_another_file_that_everybody_can_read_is_refused(write: Write) -> None:
    write(KEY, name="key", mode=0o644)
    (problem,) = problems(write("signing_key: {file: key}", mode=0o644))
    assert problem.startswith("1:14: every user can read the file of this secret: chmod o-r")


def test_settings_show_no_secret(write: Write) -> None:
    settings = load_settings(
        write(
            f"signing_key: {KEY}\ndatabase: postgresql://g:hunter2@db/x\n"
            "catalogs: {main: {type: unity, token: hunter2}}\n"
        )
    )
    shown = f"{settings!r} {settings} {settings.source!r}"
    assert KEY not in shown
    assert "hunter2" not in shown


def test_plugins_are_enabled_in_the_order_of_the_configuration(write: Write) -> None:
    settings = load_settings(
        write(
            "storage: [{type: s3}, {type: file}, {type: s3}]\n"
            "catalogs: {b: {type: unity}, a: {type: paths}}\n"
            "plugins: [audit, s3]\n"
        )
    )
    assert settings.enabled_plugins == ("audit", "s3", "unity", "paths", "file")


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(tmp_path / "gateway.yaml")
    assert caught.value.message == f"{tmp_path / 'gateway.yaml'}: No such file or directory"


def test_settings_made_in_code_show_no_secret_in_their_errors() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"signing_key": "hunter2", "database": ["hunter2"]})
    assert "hunter2" not in str(caught.value)
