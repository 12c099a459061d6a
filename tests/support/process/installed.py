"""Distributions that are really installed: metadata and modules in a folder on the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate.plugins import InstalledPlugin, hooks, installed_plugins

CATALOG = """
from sluicegate.api import Catalog, CatalogTable, CatalogType, CatalogConfig, SecretStr, hookimpl

class Config(CatalogConfig):
    uri: str
    token: SecretStr | None = None

class Fake(Catalog):
    def __init__(self, config, context):
        self.config, self.context = config, context
    async def list_schemas(self):
        return ["eu"]
    async def list_tables(self, schema):
        return ["orders"]
    def identifier(self, schema, table):
        return f"{schema}.{table}"
    async def load_table(self, identifier):
        return CatalogTable("1", "delta", "memory://lake/" + identifier)

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType(__name__.removeprefix("plugin_"), Config, Fake)]
"""

STORAGE = """
from sluicegate.api import StorageConfig, StorageType, hookimpl
from sluicegate_testing.fakes import MemoryStorage

def build(config, context):
    storage = MemoryStorage(config.prefix.rstrip("/") + "/", context.links)
    storage.context = context
    return storage

@hookimpl
def sluicegate_register_storage():
    return [StorageType(__name__.removeprefix("plugin_"), ("memory", "mem"), StorageConfig, build)]
"""

AUTHENTICATOR = """
from sluicegate.api import Authenticator, AuthenticatorType, PluginConfig, Principal, SecretStr
from sluicegate.api import Unauthenticated, hookimpl

class Config(PluginConfig):
    password: SecretStr

class Fake(Authenticator):
    def __init__(self, config, context):
        self.config, self.context, self.closed = config, context, False
    async def authenticate(self, request):
        scheme, _, rest = request.authorization.partition(" ")
        if scheme != self.context.name:
            return None
        name, _, password = rest.partition(":")
        if password != self.config.password.get_secret_value():
            raise Unauthenticated("the password is wrong")
        return Principal("", name, "password", request.address)
    async def aclose(self):
        self.closed = True

@hookimpl
def sluicegate_register_authenticators():
    return [AuthenticatorType(__name__.removeprefix("plugin_"), Config, Fake)]
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        name: str,
        code: str,
        *,
        distribution: str = "",
        version: str = "1.0",
        command: str | None = None,
    ) -> str:
        """Install a plugin; its module is `plugin_<name>` unless another distribution has that.

        It can declare the name of a command.

        Returns:
            The distribution's name.
        """
        owner = distribution or f"sluicegate-{name}"
        module = f"plugin_{name}"
        (self.folder / f"{module}.py").write_text(code, encoding="utf-8")
        metadata = self.folder / f"{owner.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {owner}\nVersion: {version}\n", encoding="utf-8"
        )
        (metadata / "entry_points.txt").write_text(
            f"[sluicegate]\n{name} = {module}\n"
            + (f"[sluicegate.commands]\n{command} = {module}\n" if command else ""),
            encoding="utf-8",
        )
        return owner


@contextmanager
def remembered_plugins() -> Iterator[None]:
    """Find installed plugins once for each state of the path: each gateway and command looks for them.

    An installation changes a folder of the path, and so do the sites of this module.
    """
    known: dict[object, tuple[InstalledPlugin, ...]] = {}

    def found() -> tuple[InstalledPlugin, ...]:
        state = tuple((each, _changed(each)) for each in sys.path)
        if state not in known:
            known[state] = installed_plugins()
        return known[state]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hooks, "installed_plugins", found)
        yield


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


@contextmanager
def installed_site(folder: Path) -> Iterator[Site]:
    """A site whose modules are forgotten at the end."""
    sys.path.insert(0, str(folder))
    try:
        yield Site(folder)
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.startswith("plugin_")]:
            del sys.modules[name]
