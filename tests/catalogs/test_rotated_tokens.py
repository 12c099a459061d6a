"""Tokens for catalogs that are replaced while the gateway runs, as its configuration names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from sluicegate.api import Unavailable
from sluicegate.config import load_settings
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.context import NoLinks
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, table_info


@pytest.fixture
def unity() -> Iterator[UnityServer]:
    with UnityServer.start() as server:
        server.state.add(table_info("main.eu.orders", "file:///lake/orders"))
        server.state.tokens = {"token-one"}
        yield server


def write_token(folder: Path, token: str) -> None:
    """Write the file that the configuration names."""
    file = folder / "token"
    file.write_text(token)
    file.chmod(0o600)


def instances(unity: UnityServer, folder: Path, token: str) -> Instances:
    """The catalogs of a configuration file whose Unity Catalog has this token."""
    path = folder / "gateway.yaml"
    path.write_text(
        f"catalogs: {{main: {{type: unity, uri: '{unity.uri}', catalog: main, token: {token}, "
        "max_age: 0, stale_while_revalidate: 0}}\n"
    )
    path.chmod(0o600)
    settings = load_settings(path)
    registry = Registry.load(settings)
    return Instances(registry, configure(settings, registry), links=NoLinks)


async def test_a_token_that_is_refused_is_read_again_from_its_file(
    unity: UnityServer, tmp_path: Path
) -> None:
    write_token(tmp_path, "token-one")
    async with aclosing(instances(unity, tmp_path, "{file: token}")) as configured:
        catalog = configured.catalog("main")
        assert await catalog.list_tables("eu") == ["orders"]
        write_token(tmp_path, "token-two")
        unity.state.tokens = {"token-two"}
        assert await catalog.list_tables("eu") == ["orders"]
        unity.state.tokens = {"token-three"}
        with pytest.raises(Unavailable, match="rejects the gateway's token"):
            await catalog.list_tables("eu")


async def test_a_token_that_is_refused_is_read_again_from_its_variable(
    unity: UnityServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UC_TOKEN", "token-one")
    async with aclosing(instances(unity, tmp_path, "{env: UC_TOKEN}")) as configured:
        catalog = configured.catalog("main")
        assert await catalog.list_tables("eu") == ["orders"]
        monkeypatch.setenv("UC_TOKEN", "token-two")
        unity.state.tokens = {"token-two"}
        assert await catalog.list_tables("eu") == ["orders"]
