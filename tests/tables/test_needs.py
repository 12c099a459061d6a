"""What a version needs of its readers: decided by its contents, whatever its protocol declares."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.process.random_cases import cases
from support.tables.filesets import schema_field, table_metadata

from sluicegate.tables.features import FeatureNeeds, declared_features, declaring, needs_of
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

PHYSICAL = "delta.columnMapping.physicalName"
BY_NAME, BY_ID = ({"delta.columnMapping.mode": mode} for mode in ("name", "id"))
RENAMED = [schema_field("a", "long", **{PHYSICAL: "col-1"})]
SAME = [schema_field("a", "long", **{PHYSICAL: "a"})]
NESTED = {"type": "array", "elementType": {"type": "struct", "fields": [schema_field("n", "variant")]}}
WIDENED = [schema_field("a", "long", **{"delta.typeChanges": [{"fromType": "integer"}]})]

# By feature: metadata that show that reading needs it, and whether files have deletion vectors.
EVIDENCE: dict[str, tuple[TableMetadata, bool]] = {
    "columnMapping": (table_metadata(RENAMED, **BY_NAME), False),
    "timestampNtz": (table_metadata([schema_field("a", "timestamp_ntz")]), False),
    "typeWidening": (table_metadata(WIDENED), False),
    "variantType": (table_metadata([schema_field("a", NESTED)]), False),
    "geospatial": (table_metadata([schema_field("a", "geometry(OGC:CRS84)")]), False),
    "deletionVectors": (table_metadata([schema_field("a", "long")]), True),
}
PLAIN = table_metadata([schema_field("a", "long")])


def weakened(*features: str) -> dict[str, TableProtocol]:
    """Protocols that don't declare features, in every way in which writers and repairs leave them."""
    others = ("v2Checkpoint", "appendOnly")
    return {
        "versions 1 and 2": TableProtocol(1, 2),
        "writer features": TableProtocol(1, 7, None, features),
        "no writer feature": TableProtocol(2, 7, None, ()),
        "no lists": TableProtocol(3, 7),
        "empty lists": TableProtocol(3, 7, (), ()),
        "empty list of readers": TableProtocol(3, 7, (), features),
        "other features": TableProtocol(3, 7, others[:1], others),
        "lists that the version lacks": TableProtocol(1, 7, features, features),
    }


def needs(protocol: TableProtocol, metadata: TableMetadata, *, vectors: bool = False) -> FeatureNeeds:
    return needs_of(protocol, metadata, deletion_vectors=vectors)


@pytest.mark.parametrize("weakening", weakened())
@pytest.mark.parametrize("feature", EVIDENCE)
def test_contents_count_whatever_the_protocol_declares(feature: str, weakening: str) -> None:
    metadata, vectors = EVIDENCE[feature]
    protocol = weakened(feature)[weakening]
    found = needs(protocol, metadata, vectors=vectors)
    assert found.required == found.beyond_parquet == (feature,)
    assert feature in found.declared
    answered = declaring(protocol, found.required)
    assert (answered.min_reader_version, answered.min_writer_version) == (3, 7)
    assert feature in (answered.reader_features or ())
    assert feature in (answered.writer_features or ())


@pytest.mark.parametrize("feature", EVIDENCE)
def test_features_that_are_declared_but_not_used_are_not_needed(feature: str) -> None:
    declared = TableProtocol(3, 7, (feature,), (feature,))
    assert needs(declared, PLAIN) == FeatureNeeds((feature,), (), ())


@pytest.mark.parametrize(("stable", "preview"), [("typeWidening",) * 2, ("variantType",) * 2])
def test_a_preview_stands_for_its_feature(stable: str, preview: str) -> None:
    name = f"{preview}-preview"
    protocol = TableProtocol(3, 7, (name,), (name,))
    assert needs(protocol, EVIDENCE[stable][0]).required == (name,)


@pytest.mark.parametrize("mode", ["name", "NAME"])
def test_columns_that_are_mapped_to_their_own_names_are_read_in_parquet_format(mode: str) -> None:
    metadata = table_metadata(SAME, **{"delta.columnMapping.mode": mode})
    assert needs(TableProtocol(2, 5), metadata) == FeatureNeeds(
        ("columnMapping",), ("columnMapping",), ()
    )


def test_names_in_files_are_unknown_where_ids_count() -> None:
    """Spark's conversion of an Iceberg table keeps files with former names of columns."""
    found = needs(TableProtocol(2, 5), table_metadata(SAME, **BY_ID))
    assert found.beyond_parquet == ("columnMapping",)


def test_a_property_alone_maps_nothing() -> None:
    metadata = table_metadata([schema_field("a", "long")], **BY_NAME)
    assert needs(TableProtocol(1, 2), metadata) == FeatureNeeds((), (), ())
    assert needs(TableProtocol(2, 5), metadata).required == ("columnMapping",)


@pytest.mark.parametrize("mode", ["none", "None", None])
def test_names_of_files_do_not_count_where_columns_are_not_mapped(mode: str | None) -> None:
    configuration = {} if mode is None else {"delta.columnMapping.mode": mode}
    assert needs(TableProtocol(1, 2), table_metadata(RENAMED, **configuration)).required == ()


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (TableProtocol(1, 2), ()),
        (TableProtocol(2, 5), ("columnMapping",)),
        (TableProtocol(2, 7, None, ("columnMapping", "appendOnly")), ("columnMapping",)),
        (TableProtocol(2, 7, None, ("appendOnly",)), ()),
        (TableProtocol(3, 7), ()),
        (TableProtocol(3, 7, ("timestampNtz",), ()), ("timestampNtz",)),
    ],
)
def test_versions_declare_what_they_imply(protocol: TableProtocol, expected: tuple[str, ...]) -> None:
    assert declared_features(protocol) == expected


@pytest.mark.parametrize("seed", range(cases(40)))
def test_every_need_is_declared_by_the_answered_protocol(seed: int) -> None:
    rng = random.Random(seed)
    chosen = rng.sample(sorted(EVIDENCE), rng.randint(1, len(EVIDENCE)))
    fields: list[dict[str, Any]] = []
    configuration: dict[str, str] = {}
    for number, name in enumerate(chosen):
        metadata, _ = EVIDENCE[name]
        configuration |= metadata.configuration
        kinds = {"columnMapping": RENAMED, "typeWidening": WIDENED}
        kind = {"timestampNtz": "timestamp_ntz", "variantType": NESTED, "geospatial": "geography(x)"}
        found = kinds.get(name, [schema_field("a", kind.get(name, "long"))])
        fields += [{**each, "name": f"{each['name']}{number}"} for each in found]
    protocol = rng.choice(list(weakened(*rng.sample(chosen, rng.randrange(len(chosen)))).values()))
    found_needs = needs(
        protocol, table_metadata(fields, **configuration), vectors="deletionVectors" in chosen
    )
    assert set(found_needs.required) == set(found_needs.beyond_parquet) == set(chosen)
    answered = declaring(protocol, found_needs.required)
    assert set(chosen) <= set(answered.reader_features or ()) <= set(answered.writer_features or ())
