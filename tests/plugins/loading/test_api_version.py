"""A plugin for an API that this gateway does not offer is refused with what to install."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from support.process.installed import CATALOG, Site

import sluicegate
from sluicegate.api import API_VERSION, ConfigurationError
from sluicegate.plugins import Registry
from sluicegate.plugins.loading import host
from sluicegate.plugins.loading.host import declared_version

GATEWAY = f"sluicegate {sluicegate.__version__}"
MAJOR, MINOR = map(int, API_VERSION.split("."))
UPGRADE_GATEWAY = "upgrade sluicegate, or install an older version of sluicegate-one"
UPGRADE_PLUGIN = "upgrade sluicegate-one, or install an older version of sluicegate"


def refusal() -> str:
    with pytest.raises(ConfigurationError) as caught:
        Registry.load(["one"])
    return caught.value.message


def declaring(version: object) -> str:
    return f"sluicegate_api_version = {version!r}\n{CATALOG}"


@pytest.mark.parametrize(
    "code",
    [
        declaring(API_VERSION),
        f"sluicegate_api_version: str = {API_VERSION!r}\n{CATALOG}",
        f"{CATALOG}\nsluicegate_api_version = ''.join({list(API_VERSION)!r})",
        CATALOG,
    ],
    ids=["assigned", "annotated", "computed", "not declared"],
)
def test_a_plugin_for_this_api_is_loaded(site: Site, code: str) -> None:
    site.install("one", code)
    assert list(Registry.load(["one"]).types.catalogs) == ["one"]


@pytest.mark.parametrize("version", [f"{MAJOR}.{MINOR + 1}", f"{MAJOR + 1}.0", "9999.9999"])
def test_a_plugin_for_a_newer_api_is_refused_before_it_is_imported(site: Site, version: str) -> None:
    site.install("one", f"from sluicegate.api import Future\nsluicegate_api_version = {version!r}\n")
    message = refusal()
    assert f"'one' (sluicegate-one 1.0) needs the plugin API {version}" in message
    assert f"this gateway ({GATEWAY}) offers {API_VERSION}" in message
    assert message.endswith(UPGRADE_GATEWAY)


def test_a_newer_api_is_also_refused_when_only_running_the_module_shows_it(site: Site) -> None:
    site.install("one", f"{CATALOG}\nsluicegate_api_version = str(9.0)")
    assert refusal().endswith(UPGRADE_GATEWAY)


def test_of_several_declarations_the_last_one_counts(site: Site) -> None:
    site.install("one", f"{declaring(API_VERSION)}\nsluicegate_api_version = '9.0'")
    assert refusal().endswith(UPGRADE_GATEWAY)


@pytest.mark.parametrize(
    ("offered", "loads"), [("1.3", True), ("1.2", True), ("1.1", False), ("2.0", False)]
)
def test_a_plugin_runs_on_later_minor_versions_and_on_no_other_major_version(
    site: Site, monkeypatch: pytest.MonkeyPatch, offered: str, loads: bool
) -> None:
    site.install("one", declaring("1.2"))
    monkeypatch.setattr(host, "API_VERSION", offered)
    if loads:
        assert list(Registry.load(["one"]).types.catalogs) == ["one"]
    else:
        assert f"offers {offered}" in refusal()


@pytest.mark.parametrize("declared", [declaring("1.7"), CATALOG], ids=["declared", "not declared"])
def test_a_plugin_for_an_api_that_has_ended_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch, declared: str
) -> None:
    monkeypatch.setattr(host, "API_VERSION", "2.0")
    site.install("one", declared)
    assert refusal().endswith(UPGRADE_PLUGIN)


@pytest.mark.parametrize("version", [1.0, "1", "1.0.0", ">=1.0", "", "1.x", "\uff11.0"])
def test_a_declaration_that_is_no_version_is_refused(site: Site, version: object) -> None:
    site.install("one", declaring(version))
    assert f"must be a text such as '{API_VERSION}', not {version!r}" in refusal()


def test_an_import_that_the_api_does_not_have_is_refused_with_what_to_install(site: Site) -> None:
    site.install("one", "from sluicegate.api import Future")
    message = refusal()
    assert "cannot import name 'Future'" in message
    assert message.endswith("upgrade sluicegate and sluicegate-one to versions that belong together")


@pytest.mark.parametrize("module", ["no_such_module", "json.no_such_module", "plugin_broken", "sys"])
def test_a_module_that_cannot_be_read_declares_nothing(site: Site, module: str) -> None:
    site.install("broken", "(")
    assert declared_version(EntryPoint("one", module, "sluicegate")) is None
