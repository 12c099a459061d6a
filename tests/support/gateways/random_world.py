"""Random shares, recipients, policies and tables in memory, and a gateway that serves them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from obstore.store import MemoryStore, ObjectStore
from support.gateways.in_process import InProcessGateway, Request, in_process_gateway
from support.process.installed import installed_site
from support.tables.deltalog import Action, add, metadata, protocol, vector

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api import (
    AssetKind,
    CatalogAsset,
    CatalogTable,
    ModelVersion,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    Policy,
    PolicyAction,
    Principal,
    SharedTable,
    TemporaryCredentials,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.config import Settings
from sluicegate_testing.fakes import MemoryCatalog, VendingStorage
from sluicegate_testing.secrets import keep_secret

PLUGIN = """
from sluicegate.api import CatalogConfig, CatalogType, PluginConfig, PolicyType
from sluicegate.api import StorageConfig, StorageType, hookimpl
from support.gateways.random_world import RandomCatalog, RandomPolicy, SharedStorage

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("world", CatalogConfig, lambda config, context: RandomCatalog())]

@hookimpl
def sluicegate_register_storage():
    build = lambda config, context: SharedStorage(config.prefix)
    return [StorageType("world", ("s3",), StorageConfig, build)]

@hookimpl
def sluicegate_register_policies():
    class Seed(PluginConfig):
        seed: int
    return [PolicyType("world", Seed, lambda config, context: RandomPolicy(config.seed))]
"""

MEMORY = """
from sluicegate.api import StorageConfig, StorageType, hookimpl
from support.gateways.random_world import SharedStorage

@hookimpl
def sluicegate_register_storage():
    build = lambda config, context: SharedStorage(config.prefix)
    return [StorageType("memory", ("memory",), StorageConfig, build)]
"""

_SCHEMA = [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    {"name": "country", "type": "string", "nullable": True, "metadata": {}},
]
_SCHEMAS = ("eu", "us", "frail")
_READABLE = ("plain", "parts", "uniform", "vectors")
_DAY = 86_400_000


def _log(actions: list[Action]) -> bytes:
    return b"".join(json.dumps(action).encode() + b"\n" for action in actions)


def _described(*partitioned_by: str, schema: list[dict[str, Any]] | None = None) -> Action:
    described = metadata(partitioned_by=partitioned_by)
    text = json.dumps({"type": "struct", "fields": schema or _SCHEMA})
    described["metaData"]["schemaString"] = text
    return described


def _parts() -> list[Action]:
    names = ("DE", "FR")
    return [add(f"{name}.parquet", partitionValues={"country": name}) for name in names]


_VARIANT = [*_SCHEMA, {"name": "v", "type": "variant", "nullable": True, "metadata": {}}]
_WITH_VECTORS = {**add("a.parquet", deletionVector=vector("vBn[lx{q8@P<9BNH/isA"))}
LOGS: Mapping[str, bytes] = {
    "plain": _log([protocol(), _described(), add("a.parquet")]),
    "parts": _log([protocol(), _described("country"), *_parts()]),
    "vectors": _log([protocol(3, "deletionVectors"), _described(), _WITH_VECTORS]),
    "variant": _log([protocol(3, "variantType"), _described(schema=_VARIANT), add("a.parquet")]),
    "unknown": _log([protocol(3, "fromTheFuture"), _described(), add("a.parquet")]),
    "damaged": b"{not json\n",
}


def _catalog_tables() -> dict[str, CatalogTable]:
    tables = {
        f"{name}{suffix}": CatalogTable(f"{name}{suffix}", "delta", f"{prefix}/{name}")
        for name in LOGS
        for suffix, prefix in (("", "s3://lake"), ("-m", "memory://lake"))
    }
    uniform = "s3://lake/plain"
    tables["uniform"] = CatalogTable(
        "uniform", "delta", uniform, metadata_location=f"{uniform}/metadata/v1.json"
    )
    tables["outside"] = CatalogTable(
        "outside", "delta", uniform, metadata_location="s3://lake/other/metadata/v1.json"
    )
    tables["managed"] = CatalogTable("managed", "delta", uniform, latest_version=0)
    tables["sealed"] = CatalogTable("sealed", "delta", "s3://lake/sealed")
    tables["empty"] = CatalogTable("empty", "delta", "s3://lake/nothing")
    tables["csv"] = CatalogTable("csv", "csv", "s3://lake/plain")
    tables["nowhere"] = CatalogTable("nowhere", "delta", "gs://elsewhere/t")
    return tables


TABLES = _catalog_tables()


ASSETS: Mapping[tuple[AssetKind, str], CatalogAsset] = {
    ("volume", "eu.manuals"): CatalogAsset("v1", "s3://lake/manuals"),
    ("volume", "eu.closed"): CatalogAsset("v2", "s3://lake/sealed"),
    ("volume", "eu.nowhere"): CatalogAsset("v3", "gs://elsewhere/v"),
    ("model", "eu.churn"): CatalogAsset("m1", "s3://lake/churn"),
    ("model", "eu.sealed"): CatalogAsset("m2", "s3://lake/sealed"),
}
VERSIONS = {
    f"eu.{name}": [ModelVersion(1, "READY", f"s3://lake/{name}/1")] for name in ("churn", "sealed")
}


class RandomCatalog(MemoryCatalog):
    """Has the same tables in two schemas, some of which cannot be looked up."""

    def __init__(self) -> None:
        super().__init__({"eu": TABLES, "us.west": TABLES, "frail": TABLES}, ASSETS, VERSIONS)

    def asset_identifier(self, kind: AssetKind, schema: str, name: str) -> str:
        """Return schema and asset, separated by a dot."""
        return f"{schema}.{name}"

    def identifier(self, schema: str, table: str) -> str:
        """Return schema and table, separated by a slash."""
        return f"{schema}/{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look a table up."""
        schema, _, table = identifier.partition("/")
        if table == "denied":
            raise PermissionDenied("the catalog denies it")
        if table == "view":
            raise UnsupportedOperation("views cannot be read")
        if schema not in self._schemas or table not in TABLES:
            raise NotFound(f"there is no table '{identifier}'")
        return TABLES[table]


class SharedStorage(VendingStorage):
    """Has the logs of the tables, wherever it is mounted, and vends for all but one directory."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix if prefix.endswith("/") else f"{prefix}/")
        self.store: ObjectStore = MemoryStore()
        for name, log in {**LOGS, "sealed": LOGS["plain"]}.items():
            self.store.put(f"{name}/_delta_log/00000000000000000000.json", log)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory in memory."""
        return await super().open(location, credentials)

    def vends(self, location: str) -> bool:
        """Whether the directory is not sealed."""
        return "/sealed" not in location


class RandomPolicy(Policy):
    """Denies a tenth of all reads and vends. It fails for some in the schema `frail`."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """Decide by the seed and the names."""
        fails = self._chance(principal.name, action) < 0.3
        if fails and any(table.schema == "frail" for table in tables):
            raise Unavailable("the policy fails")
        return frozenset(
            table
            for table in tables
            if self._chance(principal.name, principal.method, f"{action} {table.full_name}") > 0.1
        )

    def _chance(self, *parts: str) -> float:
        return Random(f"{self._seed} {parts}").random()


@dataclass(frozen=True)
class RandomWorld:
    """A gateway, the tokens of its recipients, and names that exist, are left out, or don't exist.

    Attributes:
        tokens: By recipient; `None` for a recipient that never had one.
    """

    served: InProcessGateway
    tokens: Mapping[str, str | None]
    paths: list[tuple[str, str, str]]
    assets: list[tuple[AssetKind, str, str, str]]


@dataclass
class _Shares:
    """A random shares file."""

    random: Random
    paths: list[tuple[str, str, str]] = field(default_factory=list)
    assets: list[tuple[AssetKind, str, str, str]] = field(default_factory=list)

    def content(self, recipients: int) -> dict[str, Any]:
        shares = {f"s{number}": self._share(f"s{number}") for number in range(4)}
        names = [f"r{number}" for number in range(recipients)]
        return {
            "shares": shares,
            "recipients": {name: self._recipient(list(shares)) for name in names},
        }

    def _recipient(self, shares: list[str]) -> dict[str, Any]:
        chosen = self.random.sample(shares, self.random.randint(3, len(shares)))
        properties: dict[str, str] = {}
        if self.random.random() < 0.7:
            properties["country"] = self.random.choice(["DE", "FR", "it's"])
        if self.random.random() < 0.3:
            properties["hadoop_token_bindings"] = self.random.choice(["role", "session, role"])
        networks = self.random.choice([*[[]] * 6, ["10.0.0.0/8", "127.0.0.0/8"], ["::1/128"]])
        return {"shares": chosen, "properties": properties, "allow_from": networks}

    def _share(self, share: str) -> dict[str, Any]:
        if share == "s3":
            tables = [*self._names(4), "missing"]
            self.paths += [("s3", schema, name) for schema in ("eu", "us_west") for name in tables]
            self.paths += [("s3", "us.west", "plain"), ("s3", "asia", "plain")]
            exclude = self.random.choice([[], ["frail"], ["eu"]])
            return {"from": {"catalog": "main", "exclude": exclude, "alias": "_", **self._options()}}
        return {"schemas": {schema: self._schema(share, schema) for schema in _SCHEMAS}}

    def _schema(self, share: str, schema: str) -> dict[str, Any]:
        if self.random.random() < 0.4:
            tables = [*self._names(4), "view", "missing"]
            self.paths += [(share, schema, name) for name in tables]
            patterns = {
                "include": self.random.choice([["*"], ["p*", "u*"], ["*-m", "plain"]]),
                "exclude": self.random.choice([[], ["plain*"], ["v*"]]),
            }
            origin = {"catalog": "main", "schema": "eu", **patterns, **self._options()}
            return {"from": origin}
        volumes = self.random.sample(["manuals", "closed", "nowhere", "lost"], 2)
        models = self.random.sample(["churn", "sealed", "lost"], 1)
        self.assets += [("volume", share, schema, name) for name in volumes]
        self.assets += [("model", share, schema, name) for name in [*models, "absent"]]
        names = self._names(5, "gone", "denied", "view")
        self.paths += [(share, schema, name.upper()) for name in names] + [(share, schema, "absent")]
        return {
            "tables": {
                name: {"catalog": "main", "table": f"eu/{name}", **self._options()} for name in names
            },
            "volumes": {each: {"catalog": "main", "volume": f"eu.{each}"} for each in volumes},
            "models": {each: {"catalog": "main", "model": f"eu.{each}"} for each in models},
        }

    def _names(self, count: int, *more: str) -> list[str]:
        """Names of tables, of which some can be read in every way."""
        chosen = self.random.sample(sorted({*TABLES, *more} - set(_READABLE)), count)
        return [*chosen, *self.random.sample(_READABLE, 2)]

    def _options(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {
            "access_modes": self.random.choice([["url"], ["dir"], *[["url", "dir"]] * 2])
        }
        if "dir" not in chosen["access_modes"]:
            if self.random.random() < 0.4:
                chosen["partition_filter"] = self.random.choice(
                    ["country = recipient.country", "country = 'DE'", "region = recipient.region"]
                )
            if self.random.random() < 0.2:
                chosen["start_version"] = self.random.choice([0, 3])
        if self.random.random() < 0.3:
            chosen["history"] = True
        return chosen


@contextmanager
def random_world(folder: Path, seed: int, recipients: int) -> Iterator[RandomWorld]:
    """Serve a world."""
    random = Random(seed)
    shares = _Shares(random)
    declared = shares.content(recipients)
    settings = Settings.model_validate(
        {
            "plugins": ["world", "memory"],
            "catalogs": {"main": {"type": "world"}},
            "storage": [
                {"type": "world", "prefix": "s3://lake"},
                {"type": "memory", "prefix": "memory://lake"},
            ],
            "policies": [{"type": "world", "seed": seed}, {"type": "world", "seed": seed + 1}],
            "database": f"sqlite:///{folder}/gateway.db",
        }
    )
    (folder / "shares.yaml").write_text(json.dumps(declared))
    site = folder / "site"
    site.mkdir()
    with installed_site(site) as installed:
        installed.install("world", PLUGIN)
        installed.install("memory", MEMORY)
        with in_process_gateway(settings) as served:
            read = read_shares_file(folder / "shares.yaml", ["main"])
            served.run(apply_shares_file(served.gateway.parts.store, read, prune=True, dry_run=False))
            tokens = {name: _token(served, name, random) for name in declared["recipients"]}
            yield RandomWorld(served, tokens, shares.paths, shares.assets)


def _token(served: InProcessGateway, name: str, random: Random) -> str | None:
    """A token that can be expired, replaced or revoked."""
    states = [*["valid"] * 9, "expired", "revoked", "restored", "none", *["oauth"] * 3, "oauth-revoked"]
    state = random.choice(states)
    if state == "none":
        return None
    start = epoch_ms() - (2 * _DAY if state == "expired" else 0)
    service = Recipients(
        served.gateway.parts.store, token_lifetime=86_400, rotation_grace=3600, now=lambda: start
    )
    issued = served.run(service.rotate(name, kind="oauth" if "oauth" in state else "bearer"))
    keep_secret(issued.secret)
    token = issued.secret if issued.client_id is None else _access_token(served, issued)
    if token is None:  # access tokens are not issued to addresses outside of its networks
        token = served.run(service.rotate(name, grace=0)).secret
        keep_secret(token)
    if state in ("revoked", "restored", "oauth-revoked"):
        served.run(service.revoke(name))
    if state == "restored":
        served.run(service.restore(name))
    return token


def _access_token(served: InProcessGateway, client: IssuedCredential) -> str | None:
    wish = {
        "grant_type": "client_credentials",
        "client_id": client.client_id,
        "client_secret": client.secret,
    }
    form = [("content-type", "application/x-www-form-urlencoded")]
    answer = served.send(Request("POST", "/oauth/token", form, urlencode(wish).encode()))
    if answer.status != 200:
        return None
    token: str = answer.json["access_token"]
    keep_secret(token)
    return token
