"""Delta's table features as Delta Lake 4.4 knows them: what enables each, and what each depends on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.tables.deltalog import SCHEMA, Action

PLAIN = json.loads(SCHEMA)["fields"][0]


@dataclass(frozen=True)
class Feature:
    """One table feature."""

    name: str
    reader: bool = False
    legacy: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Mapping[str, Any], ...] = ()
    instead_of: str | None = None
    requires: tuple[str, ...] = ()


def on(name: str) -> dict[str, str]:
    """A property that is switched on."""
    return {f"delta.{name}": "true"}


def column(kind: str = "long", **metadata: Any) -> Mapping[str, Any]:
    """A column; in names of its metadata `__` stands for a dot."""
    named = {key.replace("__", "."): value for key, value in metadata.items()}
    return {"name": "extra", "type": kind, "nullable": True, "metadata": named}


_ICT = ("inCommitTimestamp", "vacuumProtocolCheck")
_INVARIANT = json.dumps({"expression": {"expression": "extra > 3"}})

FEATURES = (
    Feature("appendOnly", legacy=2, properties=on("appendOnly")),
    Feature("invariants", legacy=2, columns=(column(delta__invariants=_INVARIANT),)),
    Feature("checkConstraints", legacy=3, properties={"delta.constraints.big": "id > 3"}),
    Feature("changeDataFeed", legacy=4, properties=on("enableChangeDataFeed")),
    Feature("generatedColumns", legacy=4, columns=(column(delta__generationExpression="id + 1"),)),
    Feature("allowColumnDefaults", columns=(column(CURRENT_DEFAULT="7"),)),
    Feature(
        "columnMapping",
        reader=True,
        legacy=5,
        properties={"delta.columnMapping.mode": "name"},
    ),
    Feature(
        "identityColumns",
        legacy=6,
        columns=(
            column(
                delta__identity__start=1,
                delta__identity__step=1,
                delta__identity__allowExplicitInsert=False,
            ),
        ),
    ),
    Feature("deletionVectors", reader=True, properties=on("enableDeletionVectors")),
    Feature("rowTracking", properties=on("enableRowTracking"), requires=("domainMetadata",)),
    Feature("timestampNtz", reader=True, columns=(column("timestamp_ntz"),)),
    Feature("geospatial", reader=True, columns=(column("geometry(OGC:CRS84)"),)),
    Feature("domainMetadata"),
    Feature("v2Checkpoint", reader=True, properties={"delta.checkpointPolicy": "v2"}),
    Feature("catalogManaged", reader=True, requires=_ICT),
    Feature("catalogOwned-preview", reader=True, requires=_ICT),
    Feature(
        "coordinatedCommits-preview",
        properties={"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"},
        requires=_ICT,
    ),
    Feature("icebergCompatV1", properties=on("enableIcebergCompatV1"), requires=("columnMapping",)),
    Feature("icebergCompatV2", properties=on("enableIcebergCompatV2"), requires=("columnMapping",)),
    Feature(
        "icebergCompatV3",
        properties=on("enableIcebergCompatV3"),
        requires=("columnMapping", "rowTracking", "domainMetadata"),
    ),
    Feature("clustering", requires=("domainMetadata",)),
    Feature("vacuumProtocolCheck", reader=True),
    Feature(
        "inCommitTimestamp",
        properties={
            **on("enableInCommitTimestamps"),
            "delta.inCommitTimestampEnablementVersion": "0",
            "delta.inCommitTimestampEnablementTimestamp": "1700000000000",
        },
    ),
    Feature("typeWidening-preview", reader=True),
    Feature(
        "typeWidening",
        reader=True,
        properties=on("enableTypeWidening"),
        instead_of="typeWidening-preview",
    ),
    Feature("variantType-preview", reader=True),
    Feature(
        "variantType",
        reader=True,
        columns=(column("variant"),),
        instead_of="variantType-preview",
    ),
    Feature("variantShredding-preview", reader=True),
    Feature(
        "variantShredding",
        reader=True,
        properties=on("enableVariantShredding"),
        instead_of="variantShredding-preview",
        requires=("variantType",),
    ),
    Feature("checkpointProtection", properties={"delta.requireCheckpointProtectionBeforeVersion": "3"}),
    Feature("materializePartitionColumns", properties=on("enableMaterializePartitionColumnsFeature")),
    Feature("redirectWriterOnly-preview", properties={"delta.redirectWriterOnly-preview": "{}"}),
)
BY_NAME = {feature.name: feature for feature in FEATURES}
CATALOGS = ("catalogManaged", "catalogOwned-preview")


def closure(*names: str) -> list[str]:
    """Features, and all that they depend on."""
    found = dict.fromkeys(names)
    for name in names:
        found |= dict.fromkeys(closure(*BY_NAME[name].requires))
    return list(found)


def enabling(*names: str, identifier: str = "t") -> Action:
    """A `metaData` action that enables features, and all that they depend on."""
    features = [BY_NAME[name] for name in closure(*names)]
    fields = [PLAIN, *(each for feature in features for each in feature.columns)]
    if any(feature.name == "columnMapping" for feature in features):
        fields = [_mapped(each, number) for number, each in enumerate(fields, 1)]
    properties = {key: text for feature in features for key, text in feature.properties.items()}
    return {
        "metaData": {
            "id": identifier,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": properties,
            "createdTime": 1,
        }
    }


def naming(*names: str) -> Action:
    """A `protocol` action that names features, and all that they depend on."""
    features = [BY_NAME[name] for name in closure(*names)]
    readers = [feature.name for feature in features if feature.reader]
    protocol = {"minReaderVersion": 3 if readers else 1, "minWriterVersion": 7}
    lists = {"writerFeatures": [feature.name for feature in features]}
    return {"protocol": protocol | lists | ({"readerFeatures": readers} if readers else {})}


def active(metadata: Mapping[str, Any]) -> Iterator[Feature]:
    """The features that a `metaData` action's value enables."""
    on_now = {key: text.lower() for key, text in metadata["configuration"].items()}
    fields = json.loads(metadata["schemaString"])["fields"]
    kinds = {each["type"] for each in fields if isinstance(each["type"], str)}
    noted = {key for each in fields for key in each["metadata"]}
    for feature in FEATURES:
        properties = any(on_now.get(key) == text.lower() for key, text in feature.properties.items())
        if feature.name == "checkConstraints":
            properties = any(key.startswith("delta.constraints.") for key in on_now)
        columns = any(
            each["type"] in kinds - {"long"} or noted.intersection(each["metadata"])
            for each in feature.columns
        )
        if properties or columns:
            yield feature


def _mapped(field: Mapping[str, Any], number: int) -> dict[str, Any]:
    mapping = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": field["name"],
    }
    return {**field, "metadata": {**field["metadata"], **mapping}}
