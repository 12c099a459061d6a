"""The servers of a run: a store, catalogs, the delegation service, and a gateway with all features."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from pyiceberg.catalog.rest import RestCatalog
from soak.assets import ASSETS, assets_share, write_assets
from soak.delegation import Delegation, running_delegation
from soak.faults import FaultyProxy
from soak.scanning import Scans
from soak.schedule import Fault
from soak.tables import ChangingTable, DeltaWritten, IcebergWritten
from soak.threads import NAMED_THREADS
from support.gateways.features import collector, everything
from support.gateways.gateway import RunningGateway, running_gateway, sluicegate, write_configuration
from support.servers.postgres import running_postgres

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.ports import free_port
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, table_info

SHARE, WHOLE = "lake", "whole"
WAREHOUSE = "warehouse"
# The servers that fail. A store fails for each of its buckets, so that tables of one remain readable.
TARGETS = ("lake store", "warehouse store", "unity catalog", "iceberg catalog")
READERS = ("reader-0", "reader-1", "reader-2", "reader-3")
OAUTH_READER = "oauth-reader"
_UNITY_TOKEN = "unity-service-token-of-the-soak"
_KEY = "a signing key of the soak, which is long enough"


@dataclass
class Site:
    """What clients need to know.

    Attributes:
        store: The object store, whose addresses in URLs never fail.
    """

    gateway: RunningGateway
    tables: Sequence[ChangingTable]
    profiles: Mapping[str, Mapping[str, Any]]
    admin_token: str = field(repr=False)
    proxies: Mapping[str, FaultyProxy]
    store: SeaweedFS
    metrics_port: int | None
    scans: Scans
    delegation: Delegation

    def table(self, schema: str) -> ChangingTable:
        """The table in a schema of the share."""
        return next(each for each in self.tables if each.path[:2] == (SHARE, schema))


@contextmanager
def database(folder: Path, kind: str) -> Iterator[str]:
    """The URL of a new database, until the block ends."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/gateway.db"
        return
    with running_postgres() as server:
        yield server.new_database()


@asynccontextmanager
async def running_site(
    folder: Path, *, kind: str, processes: int, fault: Callable[[str], Fault | None]
) -> AsyncIterator[Site]:
    """Start everything, until the block ends."""
    with ExitStack() as stack:
        store = stack.enter_context(SeaweedFS.start(folder / "store", warehouse=WAREHOUSE))
        unity = stack.enter_context(UnityServer.start())
        unity.state.tokens = {_UNITY_TOKEN}
        url = stack.enter_context(database(folder, kind))
        servers = {
            "lake store": store.endpoint,
            "warehouse store": store.endpoint,
            "unity catalog": unity.uri,
            "iceberg catalog": store.iceberg_uri,
        }
        async with AsyncExitStack() as proxies:
            running = {
                name: await proxies.enter_async_context(
                    FaultyProxy(servers[name], partial(fault, name)).serving()
                )
                for name in TARGETS
            }
            tables = _tables(folder, store, unity)
            for table in tables:
                table.commit(0.0)
            metrics_port = free_port()
            (folder / "policies.cedar").write_text(_POLICIES)
            features = everything("policies.cedar", stack.enter_context(collector()), metrics_port)
            settings = _settings(folder, store, running, url, features)
            write_assets(store, unity)
            write_configuration(folder, settings, _shares(tables, store))
            sluicegate(folder, "admin", "create", "soak", "--role", "owner", "--output", "soak.token")
            env = {"PYTHONWARNINGS": "default::ResourceWarning", "PYTHONPATH": NAMED_THREADS}
            gateway = stack.enter_context(
                running_gateway(folder, processes=processes, env=env, fresh=True)
            )
            delegation = stack.enter_context(
                running_delegation(folder / "delegation", _common(settings), env)
            )
            token = (folder / "soak.token").read_text().strip()
            keep_secret(token)
            profiles = {name: _profile(gateway, token, name, "bearer") for name in READERS}
            profiles[OAUTH_READER] = _profile(gateway, token, OAUTH_READER, "oauth")
            scans = stack.enter_context(Scans.start())
            metrics = metrics_port if "prometheus" in features["telemetry"] else None
            yield Site(gateway, tables, profiles, token, running, store, metrics, scans, delegation)


def _profile(gateway: RunningGateway, token: str, recipient: str, kind: str) -> Mapping[str, Any]:
    answer = httpx.post(
        f"{gateway.address}/admin/v1/recipients/{recipient}/tokens",
        json={"deliver": "profile", "kind": kind},
        headers={"Authorization": f"Bearer {token}"},
    )
    profile: Mapping[str, Any] = answer.raise_for_status().json()["profile"]
    keep_secret(*(profile[name] for name in ("bearerToken", "clientSecret") if name in profile))
    return profile


def _tables(folder: Path, store: SeaweedFS, unity: UnityServer) -> list[ChangingTable]:
    options = {
        "aws_endpoint": store.endpoint,
        "aws_region": store.region,
        "aws_access_key_id": store.admin.access_key_id,
        "aws_secret_access_key": store.admin.secret_access_key,
        "aws_allow_http": "true",
    }
    lake = f"s3://{store.bucket}"
    admin = store.admin
    catalog = RestCatalog(
        "written",
        uri=store.iceberg_uri,
        warehouse=WAREHOUSE,
        credential=f"{admin.access_key_id}:{admin.secret_access_key}",
        **{"oauth2-server-uri": f"{store.iceberg_uri}/v1/oauth/tokens"},
    )
    catalog.create_namespace_if_not_exists("eu")
    unity.state.add(table_info("main.eu.visits", f"{lake}/visits"))
    (folder / "local" / "notes").mkdir(parents=True)
    return [
        ChangingTable(
            (SHARE, "paths", "orders"),
            frozenset({"lake store"}),
            DeltaWritten(f"{lake}/orders", options),
        ),
        ChangingTable(
            (SHARE, "unity", "visits"),
            frozenset({"lake store", "unity catalog"}),
            DeltaWritten(f"{lake}/visits", options),
        ),
        ChangingTable(
            (SHARE, "iceberg", "facts"),
            frozenset({"warehouse store", "iceberg catalog"}),
            IcebergWritten(catalog, ("eu", "facts")),
            versioned=False,
        ),
        ChangingTable(
            (SHARE, "local", "notes"), frozenset(), DeltaWritten(str(folder / "local" / "notes"))
        ),
    ]


def _settings(
    folder: Path,
    store: SeaweedFS,
    proxies: Mapping[str, FaultyProxy],
    database: str,
    features: Mapping[str, Any],
) -> dict[str, Any]:
    """Small caches, which are full when the warm-up ends."""
    oauth2 = {"client_id": store.admin.access_key_id, "client_secret": store.admin.secret_access_key}
    kept = {"max_age": "2s", "stale_while_revalidate": "10s", "timeout": "4s"}
    return {
        "database": database,
        "signing_key": _KEY,
        "catalogs": {
            "raw": {"type": "paths"},
            "unity": {
                **{"type": "unity", "uri": proxies["unity catalog"].address, "catalog": "main"},
                **{"token": _UNITY_TOKEN, "credentials": "storage", **kept},
            },
            "ice": {
                **{"type": "iceberg", "uri": proxies["iceberg catalog"].address},
                **{"warehouse": WAREHOUSE, "oauth2": oauth2, **kept},
            },
        },
        "storage": [
            _s3(store, store.bucket, proxies["lake store"].address),
            _s3(store, WAREHOUSE, proxies["warehouse store"].address),
            {"type": "file", "prefix": f"file://{folder}/local/"},
        ],
        "cache": {"snapshots": "32MB", "commits": "16MB", "answers": "8MB", "share_answers": True},
        **features,
    }


def _common(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The sections that the delegation service has in common with the gateway."""
    telemetry = {name: each for name, each in settings["telemetry"].items() if name != "prometheus"}
    same = {name: settings[name] for name in ("database", "signing_key", "audit")}
    return {**same, "telemetry": telemetry}


def _s3(store: SeaweedFS, bucket: str, endpoint: str) -> dict[str, Any]:
    """A bucket that the gateway reads through a proxy, and recipients without it."""
    return {
        "type": "s3",
        "prefix": f"s3://{bucket}/",
        "endpoint": endpoint,
        "public_endpoint": store.endpoint,
        "access_key_id": store.signer.access_key_id,
        "secret_access_key": store.signer.secret_access_key,
        "sts_endpoint": endpoint,
        "vending": {"role_arn": store.role_arn},
    }


def _shares(tables: Sequence[ChangingTable], store: SeaweedFS) -> dict[str, Any]:
    paths, _, _, local = tables
    both: dict[str, Any] = {"history": True, "access_modes": ["url", "dir"]}
    written = {table.path[1]: table.written for table in (paths, local)}
    location = {
        schema: each.location for schema, each in written.items() if isinstance(each, DeltaWritten)
    }
    schemas = {
        "paths": {
            "orders": {"catalog": "raw", "table": location["paths"], "change_feed": True, **both},
            "embargo": {"catalog": "raw", "table": location["paths"]},
        },
        "unity": {"visits": {"catalog": "unity", "table": "eu.visits", "change_feed": True, **both}},
        "iceberg": {"facts": {"catalog": "ice", "table": "eu.facts", **both}},
        "local": {
            "notes": {
                **{"catalog": "raw", "table": f"file://{location['local']}"},
                **{"history": True, "change_feed": True},
            }
        },
    }
    whole = {
        "unity": {"catalog": "unity", "schema": "eu"},
        "iceberg": {"catalog": "ice", "schema": "eu"},
    }
    shared = {"shares": [SHARE, WHOLE, ASSETS]}
    return {
        "shares": {
            SHARE: {"schemas": {name: {"tables": each} for name, each in schemas.items()}},
            WHOLE: {"schemas": {name: {"from": each} for name, each in whole.items()}},
            ASSETS: assets_share(store),
        },
        "recipients": dict.fromkeys((*READERS, OAUTH_READER), shared),
    }


_POLICIES = """
permit (principal, action, resource);
forbid (principal, action, resource == Sluicegate::Table::"lake.paths.embargo");
"""
