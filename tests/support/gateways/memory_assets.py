"""The parts of a gateway in memory that shares volumes, models and skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.routing import Route
from support.gateways.memory_client import AUTHENTICATION
from support.gateways.memory_gateway import KEYS, LIFETIME
from support.gateways.memory_grants import MemoryGrants
from support.gateways.memory_instances import LAKE, SigningStorage, memory_instances
from support.gateways.memory_ledger import MemoryLedger

from sluicegate.api import (
    AssetKind,
    CatalogAsset,
    Event,
    ModelVersion,
    Policy,
    Schema,
    Share,
    SharedAsset,
    SharedSchemaSource,
)
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.routes import AssetEndpoints
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.vending import Vending
from sluicegate.vending.issue import Vendors
from sluicegate_testing.fakes import MemoryCatalog

MAX_BODY = 1_000
MANUALS = SharedAsset("v1", "sales", "s1", "eu", "manuals", "main", "eu.manuals")
CHURN = SharedAsset("m1", "sales", "s1", "eu", "churn", "main", "eu.churn", kind="model")
STYLE = SharedAsset("k1", "sales", "s1", "eu", "sql-style", "main", "eu.style", kind="skill")
SKILL = b"---\nname: sql-style\ndescription: How we write SQL.\n---\n# Text\n"


def versions() -> list[ModelVersion]:
    """Versions of `CHURN`, of which the third is not ready."""
    return [
        ModelVersion(1, "READY", f"{LAKE}/churn/1", id="u1", comment="First"),
        ModelVersion(2, "READY", f"{LAKE}/churn/2", aliases=("Champion",), run_id="r", source="s"),
        ModelVersion(3, "PENDING_REGISTRATION", f"{LAKE}/churn/3", aliases=("next",)),
    ]


@dataclass
class MemoryAssets:
    """The parts."""

    storage: SigningStorage
    catalog: dict[tuple[AssetKind, str], CatalogAsset]
    instances: Instances
    grants: MemoryGrants
    ledger: MemoryLedger
    vending: Vending
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.resolver = AssetResolver(
            self.grants, Resolver(self.grants, self.instances, self.vending), self.instances
        )
        self.skills = SkillFiles(self.instances, self.vending)
        self.descriptions = AssetDescriptions(self.resolver, self.skills)
        self.credentials = AssetCredentials(self.resolver, self.descriptions, self.vending)

    def routes(self) -> list[Route]:
        """The routes of assets."""
        return AssetEndpoints(
            authentication=AUTHENTICATION,
            grants=self.grants,
            resolver=self.resolver,
            descriptions=self.descriptions,
            credentials=self.credentials,
            tokens=TokenSigner(KEYS, 60),
            max_body=MAX_BODY,
        ).routes()


def memory_assets(
    *shared: SharedAsset,
    catalog: Mapping[tuple[AssetKind, str], CatalogAsset] | None = None,
    of_model: Sequence[ModelVersion] | None = None,
    policy: Policy | None = None,
    source: SharedSchemaSource | None = None,
) -> MemoryAssets:
    """Parts that serve some assets of the share `sales` and its schemas."""
    known: dict[tuple[AssetKind, str], CatalogAsset] = {
        ("volume", "eu.manuals"): CatalogAsset("c1", f"{LAKE}/manuals"),
        ("model", "eu.churn"): CatalogAsset("c2", f"{LAKE}/churn", comment="Who leaves"),
        ("skill", "eu.style"): CatalogAsset("c3", f"{LAKE}/skills/sql-style"),
        **(catalog or {}),
    }
    storage = SigningStorage()
    found = {"eu.churn": versions() if of_model is None else of_model}
    instances = memory_instances(
        storage,
        catalogs={"main": MemoryCatalog({}, known, found)},
        policies={} if policy is None else {"policy": policy},
    )
    share = Share("s1", "sales")
    declared = shared or (() if source else (MANUALS, CHURN, STYLE))
    assets = sorted(declared, key=lambda each: each.name.casefold())
    names = sorted({each.schema for each in assets} | ({"eu"} if source else set()))
    grants = MemoryGrants(
        [share],
        [
            Schema(f"schema-{name}", share, name, source=source if name == "eu" else None)
            for name in names
        ],
        assets={f"schema-{name}": [each for each in assets if each.schema == name] for name in names},
    )
    ledger, events = MemoryLedger(), list[Event]()
    vending = Vending(Vendors(instances), grants, ledger, events.append, lifetime=LIFETIME)
    return MemoryAssets(storage, known, instances, grants, ledger, vending, events)
