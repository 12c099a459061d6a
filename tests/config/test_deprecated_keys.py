"""Old names of settings keep working, and warn with the new name and the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.main import run
from sluicegate.config import Settings, load_settings
from sluicegate.config.deprecated_keys import RENAMED
from sluicegate.config.model import SettingsModel

OLD = """\
server: {stop_timeout: 7s, max_body: 3MB}
sharing:
  url_lifetime: 2h
delegation:
  realm_limit: 9
  max_body: 4MB
  lease: {lost_timeout: 90s}
"""
CURRENT = {
    "server.shutdown_grace_period": 7,
    "limits.request_body.sharing": 3_000_000,
    "sharing.presigned_url_ttl": 7200,
    "delegation.max_running_per_realm": 9,
    "limits.request_body.delegation": 4_000_000,
    "delegation.lease.ttl": 90,
}


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "gateway.yaml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def value(settings: Settings, key: str) -> object:
    """The value of a dotted key."""
    found: object = settings
    for part in key.split("."):
        found = getattr(found, part)
    return found


def has(settings: Settings, key: tuple[str, ...]) -> bool:
    """Whether the models have a key."""
    section = value(settings, ".".join(key[:-1]))
    return isinstance(section, SettingsModel) and key[-1] in type(section).model_fields


@pytest.mark.parametrize("old", RENAMED)
def test_the_current_name_exists_and_the_old_one_does_not(old: tuple[str, ...]) -> None:
    assert has(Settings(), RENAMED[old])
    assert not has(Settings(), old)


def test_old_keys_set_the_current_ones(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, OLD))
    assert {key: value(settings, key) for key in CURRENT} == CURRENT


def test_each_old_key_warns_with_its_place_and_the_current_key(tmp_path: Path) -> None:
    path = written(tmp_path, OLD)
    assert sorted(load_settings(path).source.warnings) == sorted(
        [
            f"{path}:1:10: 'server.stop_timeout' is deprecated: rename it to "
            "'server.shutdown_grace_period'",
            f"{path}:1:28: 'server.max_body' is deprecated: move it to 'limits.request_body.sharing'",
            f"{path}:3:3: 'sharing.url_lifetime' is deprecated: rename it to "
            "'sharing.presigned_url_ttl'",
            f"{path}:5:3: 'delegation.realm_limit' is deprecated: rename it to "
            "'delegation.max_running_per_realm'",
            f"{path}:6:3: 'delegation.max_body' is deprecated: move it to "
            "'limits.request_body.delegation'",
            f"{path}:7:11: 'delegation.lease.lost_timeout' is deprecated: rename it to "
            "'delegation.lease.ttl'",
        ]
    )


def test_current_keys_do_not_warn(tmp_path: Path) -> None:
    path = written(tmp_path, "sharing: {presigned_url_ttl: 2h}\n")
    assert load_settings(path).source.warnings == ()


def test_a_key_under_both_names_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "sharing:\n  url_lifetime: 2h\n  presigned_url_ttl: 1h\n")
    with pytest.raises(ConfigurationError) as refused:
        load_settings(path)
    assert refused.value.message == (
        f"{path}:2:3: 'sharing.url_lifetime' is the old name of 'sharing.presigned_url_ttl', "
        "and both are set: remove it"
    )


def test_a_wrong_value_of_an_old_key_is_reported_at_the_line_that_has_it(tmp_path: Path) -> None:
    path = written(tmp_path, "sharing:\n  url_lifetime: soon\n")
    with pytest.raises(ConfigurationError) as refused:
        load_settings(path)
    assert refused.value.message.startswith(f"{path}:2:17: sharing.presigned_url_ttl: ")


MOVED_BESIDE_ITS_NEW_SECTION = """\
limits: {table: {rows: 5000}, request_body: {delegation: 8KiB}}
server: {max_body: 3MB}
"""


def test_a_moved_key_joins_the_section_that_is_there(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, MOVED_BESIDE_ITS_NEW_SECTION))
    assert (settings.limits.table.rows, settings.limits.request_body.delegation) == (5000, 8192)
    assert settings.limits.request_body.sharing == 3_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server: {max_body: large}\n", "1:20: limits.request_body.sharing: expected a size"),
        ("limits: 3\nserver: {max_body: 3MB}\n", "1:9: limits: expected a mapping"),
        ("limits: {request_body: 3MB}\nserver: {max_body: 3MB}\n", "1:24: limits.request_body: "),
        (
            "limits: {request_body: {sharing: 3MB}}\nserver: {max_body: 3MB}\n",
            "2:10: 'server.max_body' is the old name of 'limits.request_body.sharing', and both",
        ),
    ],
)
def test_a_key_that_cannot_be_moved_is_reported_where_it_is(
    tmp_path: Path, text: str, message: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigurationError) as refused:
        load_settings(path)
    assert refused.value.message.startswith(f"{path}:{message}")
    assert "\n" not in refused.value.message


def test_an_old_key_that_a_merge_sets_works(tmp_path: Path) -> None:
    text = "server: &base {max_body: 3MB}\ndelegation: {<<: *base}\n"
    settings = load_settings(written(tmp_path, text))
    assert settings.limits.request_body.delegation == 3_000_000
    assert len(settings.source.warnings) == 2


def test_references_work_under_old_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL_TTL", "2h")
    path = written(tmp_path, "sharing: {url_lifetime: {env: URL_TTL}}\n")
    assert load_settings(path).sharing.presigned_url_ttl == 7200


@pytest.mark.parametrize("text", ["sharing: 3\n", "delegation: {lease: 3}\n", "- a\n"])
def test_sections_of_another_shape_are_left_to_the_models(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a mapping"):
        load_settings(written(tmp_path, text))


def test_commands_report_each_old_key_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "sharing: {url_lifetime: 2h}\nplugins: [file]\n")
    assert run(["config", "check", "--config", str(path)]) == 0
    assert capsys.readouterr().err.count("is deprecated") == 1
