"""Files of this machine whose storage says that it vends credentials: a gateway that offers `dir`.

No store of this machine gives credentials for directories of files, so these open nothing: what is
tested is which tables, modes and directories are offered, and how credentials are answered.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.gateways.gateway import run_here, write_configuration
from support.gateways.in_process import Answer, InProcessGateway, Request, in_process_gateway
from support.process.installed import installed_site

from sluicegate.config import Settings, load_settings
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate_testing.fakes import MemoryVendor
from sluicegate_testing.secrets import keep_credentials, keep_secret

SHARE = "/delta-sharing/shares/sales"
PLUGIN = """
from sluicegate.api import CredentialVendor, StorageType, hookimpl
from sluicegate_testing.fakes import MemoryVendor
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage

ENDED = []

class VendingFiles(FileStorage, CredentialVendor):
    def __init__(self, config, context):
        super().__init__(config, context)
        self.vendor = MemoryVendor()
        self.signed_with = []
    async def presign(self, locations, expires_in, credentials=None):
        self.signed_with.append(credentials)
        return await super().presign(locations, expires_in, credentials)
    def vends(self, location):
        return "/sealed" not in location
    async def vend(self, scope):
        return await self.vendor.vend(scope)
    async def end_sessions(self, principal, before):
        ENDED.append(principal.name)
        return await self.vendor.end_sessions(principal, before)

@hookimpl
def sluicegate_register_storage():
    return [StorageType("vending", ("file",), FileConfig, VendingFiles)]
"""


@dataclass(frozen=True)
class VendingGateway:
    """A gateway and a recipient's token."""

    served: InProcessGateway
    token: str
    lake: str

    def get(self, path: str, **headers: str) -> Answer:
        """What the recipient gets for a path below the share."""
        return self._send("GET", path, headers)

    def query(self, table: str, **headers: str) -> Answer:
        """What the recipient gets for a query of a table."""
        return self._send("POST", f"{table}/query", headers, b"{}")

    def credentials(self, table: str, body: bytes = b"", **headers: str) -> Answer:
        """What the recipient gets for a wish for credentials."""
        path = f"schemas/eu/tables/{table}/temporary-table-credentials"
        answer = self._send("POST", path, headers, body)
        if answer.status == 200:
            keep_credentials(answer.json["credentials"])
        return answer

    @property
    def vendor(self) -> MemoryVendor:
        """Who vends."""
        _, storage = self.served.gateway.parts.instances.storage_for(self.lake)
        vendor: MemoryVendor = getattr(storage, "vendor")  # noqa: B009  (the plugin has no type here)
        return vendor

    def listed(self, path: str = "all-tables") -> dict[str, dict[str, Any]]:
        """The tables of a listing, by name."""
        answer = self.get(path)
        assert answer.status == 200, answer.body
        return {item["name"]: item for item in answer.json["items"]}

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        known = [("authorization", f"Bearer {self.token}"), *named]
        return self.served.send(Request(method, f"{SHARE}/{path}", known, body))


@asynccontextmanager
async def directory_access(
    site: Path, lake: str, *absolute_paths: str
) -> AsyncIterator[DirectoryAccess]:
    """What decides about tables of a lake, without a gateway around it."""
    storage = {
        "type": "vending",
        "prefix": lake,
        "absolute_paths": [f"{lake}/{path}" for path in absolute_paths],
    }
    with installed_site(site) as installed:
        installed.install("vending", PLUGIN)
        settings = Settings.model_validate({"plugins": ["vending"], "storage": [storage]})
        registry = Registry.load(settings)
        instances = Instances(registry, configure(settings, registry), links=NoLinks)
        yield DirectoryAccess(instances)
        await instances.aclose()


@contextmanager
def vending_gateway(
    folder: Path,
    tables: Mapping[str, Mapping[str, Any]],
    *,
    catalogs: Mapping[str, Any] | None = None,
    absolute_paths: tuple[str, ...] = (),
    plugins: Mapping[str, str] | None = None,
    sections: Mapping[str, Any] | None = None,
    share: Mapping[str, Any] | None = None,
) -> Iterator[VendingGateway]:
    """Serve tables of `folder/lake` as the schema `eu`, to one recipient."""
    lake = f"file://{folder}/lake"
    (folder / "lake").mkdir(exist_ok=True)
    declared = {
        name: {"catalog": "raw", **options, "table": f"{lake}/{options.get('table', name)}"}
        for name, options in tables.items()
    }
    settings = {
        "plugins": ["paths", "vending", *(plugins or {})],
        "catalogs": {"raw": {"type": "paths"}, **(catalogs or {})},
        "storage": [
            {
                "type": "vending",
                "prefix": lake,
                "absolute_paths": [f"{lake}/{path}" for path in absolute_paths],
            }
        ],
        "database": f"sqlite:///{folder}/gateway.db",
        **(sections or {}),
    }
    shares = {
        "shares": {"sales": {"schemas": {"eu": {"tables": declared}}, **(share or {})}},
        "recipients": {"acme": {"shares": ["sales"]}},
    }
    write_configuration(folder, settings, shares)
    run_here(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    token = json.loads((folder / "acme.share").read_text())["bearerToken"]
    keep_secret(token)
    site = folder / "site"
    site.mkdir()
    with installed_site(site) as installed:
        for name, code in {"vending": PLUGIN, **(plugins or {})}.items():
            installed.install(name, code)
        with in_process_gateway(load_settings(folder / "gateway.yaml")) as served:
            yield VendingGateway(served, token, lake)
