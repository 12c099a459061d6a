"""The sections of plugins are checked as strictly, and as helpfully, as the gateway's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.process.installed import AUTHENTICATOR, CATALOG, STORAGE, Site

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import load_settings
from sluicegate.plugins import ConfiguredInstances, Registry, configure

Check = Callable[..., ConfiguredInstances]
S = "storage:\n- "
A = "authentication:\n  authenticators:\n  - "


@pytest.fixture
def check(site: Site, tmp_path: Path) -> Check:
    site.install("uc", CATALOG)
    site.install("mem", STORAGE)
    site.install("own", AUTHENTICATOR)

    def check(text: str, *, mode: int = 0o600) -> ConfiguredInstances:
        path = tmp_path / "gateway.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        settings = load_settings(path)
        return configure(settings, Registry.load(settings))

    return check


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "catalogs:\n  main: {type: uc, ury: x}",
            "2:20: catalogs.main: unknown key 'ury'; did you mean 'uri'?",
        ),
        ("catalogs:\n  main: {type: uc}", "2:9: catalogs.main: 'uri' is missing"),
        ("catalogs:\n  main: {type: uc, uri: [1]}", "2:25: catalogs.main.uri: expected a string"),
        ("catalogs:\n  main: {type: mem}", "2:16: plugin 'mem' offers no catalog"),
        (S + "{type: uc, prefix: x}", "2:10: plugin 'uc' offers no storage"),
        (S + "{type: mem}", "2:3: storage.0: 'prefix' is missing"),
        (S + "{type: mem, prefix: s3://x/}", "2:23: storage 'mem' serves locations that start with memory://"),
        (S + "{type: mem, prefix: memory}", "2:23: storage 'mem' serves locations that start with memory://"),
        (
            S + "{type: mem, prefix: memory://x/}\n- {type: mem, prefix: mem://x}",
            "3:23: the prefix 'memory://x/' is served by another entry already",
        ),
        (
            S + "{type: mem, prefix: memory://x/a, absolute_paths: [mem://x/a/b, memory://x/ab]}",
            "2:67: 'memory://x/ab/' is not in this storage, memory://x/a/",
        ),
        ("policies:\n- {type: uc}", "2:10: plugin 'uc' offers no policy"),
        (A + "{type: own}", "3:5: authentication.authenticators.0: 'password' is missing"),
        (A + "{type: uc, uri: x}", "3:12: plugin 'uc' offers no authenticator"),
        (
            A + "{type: own, password: x, user: y}",
            "3:30: authentication.authenticators.0: unknown key 'user'",
        ),
    ],
)  # fmt: skip
def test_a_wrong_section_is_refused_where_it_stands(check: Check, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(text)
    problems = [line.partition(".yaml:")[2] for line in caught.value.message.splitlines()]
    assert any(problem.startswith(expected) for problem in problems), problems


def test_problems_of_all_sections_are_reported_at_once(check: Check) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check("catalogs: {a: {type: uc}, b: {type: uc, x: 1}}\nstorage: [{type: mem}]")
    assert len(caught.value.message.splitlines()) == 4


def test_a_plugins_literal_secret_in_a_public_file_is_refused(check: Check) -> None:
    text = "catalogs: {main: {type: uc, uri: x, token: hunter2}}"
    with pytest.raises(ConfigurationError) as caught:
        check(text, mode=0o644)
    assert ":1:44: the file contains a secret, and every user can read it" in caught.value.message
    assert "hunter2" not in caught.value.message
    assert "hunter2" not in repr(check(text, mode=0o600))


def test_a_plugins_secret_from_the_environment_may_stand_in_a_public_file(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    text = "catalogs: {main: {type: uc, uri: x, token: {env: TOKEN}}}"
    (catalog,) = check(text, mode=0o644).catalogs
    assert catalog.config.token.get_secret_value() == "hunter2"  # type: ignore[attr-defined]


def test_prefixes_get_their_canonical_spelling(check: Check) -> None:
    (storage,) = check(S + "{type: mem, prefix: mem://lake/a}").storage
    assert (storage.name, storage.config.prefix) == ("mem-1", "memory://lake/a/")
