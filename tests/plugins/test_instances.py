from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.process.installed import AUTHENTICATOR, CATALOG, STORAGE, Site

from sluicegate.api import ConfigurationError, FormatType, LinkSigner, NotFound, UnsupportedOperation
from sluicegate.config import Settings
from sluicegate.plugins import Instances, Registry, configure
from sluicegate_testing.fakes import FakeLinks, authentication_request

Build = Callable[..., Instances]


@pytest.fixture
def build(site: Site) -> Build:
    site.install("uc", CATALOG)
    site.install("mem", STORAGE)
    site.install("own", AUTHENTICATOR)

    def make(*prefixes: str, passwords: Sequence[str] = (), **catalogs: Any) -> Instances:
        storage = [{"type": "mem", "prefix": prefix} for prefix in prefixes]
        authenticators = [{"type": "own", "password": password} for password in passwords]
        settings = Settings.model_validate(
            {
                "catalogs": catalogs,
                "storage": storage,
                "authentication": {"authenticators": authenticators},
            }
        )
        registry = Registry.load(settings)
        return Instances(registry, configure(settings, registry), links=links)

    return make


def links(name: str) -> LinkSigner:
    return FakeLinks()


def test_two_catalogs_of_one_type_are_two_instances(build: Build) -> None:
    instances = build(main={"type": "uc", "uri": "a"}, other={"type": "uc", "uri": "b"})
    assert list(instances.catalogs) == ["main", "other"]
    assert instances.catalog("main") is not instances.catalog("other")
    assert instances.catalog("other").config.uri == "b"  # type: ignore[attr-defined]


def test_an_unconfigured_catalog_is_not_found(build: Build) -> None:
    with pytest.raises(NotFound, match="there is no catalog named 'main'"):
        build().catalog("main")


@pytest.mark.parametrize(
    ("location", "served_by", "canonical"),
    [
        ("memory://lake/t", "mem-1", "memory://lake/t"),
        ("memory://lake/deep/t", "mem-2", "memory://lake/deep/t"),
        ("memory://lake/deep", "mem-2", "memory://lake/deep"),
        ("memory://lake/deeper/t", "mem-1", "memory://lake/deeper/t"),
        ("mem://lake/deep/a b%20", "mem-2", "memory://lake/deep/a b%20"),
        ("memory://lake", "mem-1", "memory://lake"),
    ],
)
def test_the_longest_prefix_serves_a_location(
    build: Build, location: str, served_by: str, canonical: str
) -> None:
    instances = build("memory://lake/", "memory://lake/deep")
    found, storage = instances.storage_for(location)
    assert (found, storage) == (canonical, instances.storage(served_by))


@pytest.mark.parametrize("location", ["memory://other/t", "s3://lake/t", "memory://lake-2/t", "lake/t"])
def test_a_location_that_nobody_serves_is_refused_by_its_bucket(build: Build, location: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build("memory://lake/").storage_for(location)
    assert caught.value.detail == location
    assert location not in caught.value.message


def test_names_of_storage_count_within_their_type(build: Build) -> None:
    instances = build("memory://a/", "memory://b/")
    named = [instances.storage(name) for name in ("mem-1", "mem-2", "mem-3", "uc-1")]
    assert [storage and storage.prefix for storage in named] == [
        "memory://a/",
        "memory://b/",
        None,
        None,
    ]


async def test_contexts_open_locations_of_any_storage(build: Build) -> None:
    instances = build("memory://lake/", main={"type": "uc", "uri": "a"})
    context = instances.catalog("main").context  # type: ignore[attr-defined]
    assert context.name == "main"
    assert (await context.open("mem://lake/t")).key("x") == "t/x"
    with pytest.raises(ConfigurationError):
        await context.open("memory://other/t")


async def test_storage_signs_links_below_its_own_prefix_and_catalogs_sign_none(build: Build) -> None:
    instances = build("memory://lake/", main={"type": "uc", "uri": "a"})
    presigned = await instances.storage_for("memory://lake/t")[1].presign(["memory://lake/t"], 60)
    assert len(presigned.urls) == 1
    with pytest.raises(UnsupportedOperation):
        instances.catalog("main").context.links.sign([], 60)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            "ValueError('hunter2')",
            r"'main' \(type uc\) cannot be built: ValueError in .*plugin_uc.*\.py:\d+",
        ),
        ("ConfigurationError('the folder is missing')", r"'main' \(type uc\): the folder is missing"),
    ],
)
def test_an_instance_that_cannot_be_built_is_refused_by_name(
    site: Site, error: str, expected: str
) -> None:
    raising = f"def __init__(self, config, context):\n        raise {error}\n    def other(self):"
    code = CATALOG.replace("def __init__(self, config, context):", raising)
    site.install("uc", code.replace("import Catalog,", "import Catalog, ConfigurationError,"))
    settings = Settings.model_validate({"catalogs": {"main": {"type": "uc", "uri": "a"}}})
    registry = Registry.load(settings)
    with pytest.raises(ConfigurationError) as caught:
        Instances(registry, configure(settings, registry), links=links)
    assert re.fullmatch(expected, caught.value.message)


def test_an_instance_that_lacks_methods_is_refused_with_their_names(site: Site) -> None:
    code = CATALOG.replace("async def load_table", "async def load").replace(
        "def identifier", "def named"
    )
    site.install("uc", code)
    settings = Settings.model_validate({"catalogs": {"main": {"type": "uc", "uri": "a"}}})
    registry = Registry.load(settings)
    with pytest.raises(ConfigurationError, match="does not implement identifier, load_table"):
        Instances(registry, configure(settings, registry), links=links)


async def test_closing_closes_all_also_when_one_fails_and_only_once(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    instances = build("memory://lake/", "memory://b/", main={"type": "uc", "uri": "a"})
    closed: list[str] = []

    def closing(name: str, *, fail: bool = False) -> Callable[[], Any]:
        async def aclose() -> None:
            closed.append(name)
            if fail:
                raise OSError(name)

        return aclose

    monkeypatch.setattr(instances.catalog("main"), "aclose", closing("main", fail=True))
    monkeypatch.setattr(instances.storage("mem-1"), "aclose", closing("mem-1"))
    monkeypatch.setattr(instances.storage("mem-2"), "aclose", closing("mem-2"))
    with pytest.raises(ExceptionGroup, match="failed to close"):
        await instances.aclose()
    await instances.aclose()
    assert closed == ["main", "mem-1", "mem-2"]


def test_formats_of_the_gateway_and_of_plugins_stand_side_by_side(site: Site) -> None:
    site.install(
        "hudi",
        "from sluicegate.api import FormatType, hookimpl\n"
        "@hookimpl\ndef sluicegate_register_formats():\n    return [FormatType('hudi', object)]\n",
    )
    settings = Settings(plugins=("hudi",))
    registry = Registry.load(settings)
    own = FormatType("delta", object)  # type: ignore[arg-type]
    instances = Instances(registry, configure(settings, registry), links=links, formats=[own])
    assert list(instances.formats) == ["delta", "hudi"]


async def test_authenticators_are_built_in_order_and_closed_at_the_end(build: Build) -> None:
    instances = build(passwords=["one", "other"])
    first, second = instances.authenticators
    sent = authentication_request("own-1 acme:one")
    assert (await first.authenticate(sent)).name == "acme"  # type: ignore[union-attr]
    assert await second.authenticate(sent) is None
    with pytest.raises(UnsupportedOperation, match="authenticator 'own-1' has no locations"):
        first.context.links.sign([], 1)  # type: ignore[attr-defined]
    await instances.aclose()
    assert second.closed  # type: ignore[attr-defined]
