"""Protocol and table properties of one response agree with each other."""

from __future__ import annotations

import pytest
from support.tables.filesets import schema_field, table_metadata

from sluicegate.protocols.delta_sharing.encoding.delta_features import (
    AnsweredFeatures,
    answered_properties,
)
from sluicegate.tables.features import READER_FEATURES
from sluicegate.tables.snapshot import TableMetadata, TableProtocol


def metadata(**properties: str) -> TableMetadata:
    named = {name.replace("__", "."): value for name, value in properties.items()}
    return table_metadata([schema_field("id", "long")], **named)


def listing(*readers: str, writers: tuple[str, ...] = ()) -> TableProtocol:
    """A protocol with lists of features; writer features are in addition to the reader features."""
    return TableProtocol(3, 7, readers, (*readers, *writers))


def answered(
    table: TableProtocol,
    *kept: str,
    required: tuple[str, ...] = (),
    shown: TableMetadata | None = None,
) -> TableProtocol:
    features = AnsweredFeatures.of(kept, required, [shown or metadata()])
    return features.protocol(table)


def test_a_protocol_without_lists_and_enabled_features_is_unchanged() -> None:
    assert answered(TableProtocol(1, 2)) == TableProtocol(1, 2)


@pytest.mark.parametrize(
    ("properties", "version"),
    [
        ({}, 1),
        ({"delta__appendOnly": "true"}, 2),
        ({"delta__appendOnly": "false"}, 1),
        ({"delta__constraints__positive": "id > 0"}, 3),
        ({"delta__enableChangeDataFeed": "true"}, 4),
        ({"delta__enableChangeDataFeed": "TRUE", "delta__appendOnly": "true"}, 4),
        ({"delta__enableRowTracking": "true"}, 1),
    ],
)
def test_the_writer_version_covers_the_features_that_properties_enable(
    properties: dict[str, str], version: int
) -> None:
    found = answered(TableProtocol(1, 1), shown=metadata(**properties))
    assert found == TableProtocol(1, version)


def test_the_writer_version_is_never_lowered() -> None:
    feed = metadata(delta__enableChangeDataFeed="true")
    assert answered(TableProtocol(1, 6), shown=feed) == TableProtocol(1, 6)


@pytest.mark.parametrize(
    ("key", "feature", "version"),
    [
        ("delta.invariants", "invariants", 2),
        ("delta.generationExpression", "generatedColumns", 4),
        ("delta.identity.start", "identityColumns", 6),
    ],
)
def test_metadata_of_columns_enable_features(key: str, feature: str, version: int) -> None:
    shown = table_metadata([schema_field("id", "long", **{key: "x"})])
    assert answered(TableProtocol(1, 1), shown=shown).min_writer_version == version
    assert answered(listing(), shown=shown).writer_features == (feature,)


def test_metadata_of_nested_columns_count() -> None:
    inner = {"type": "struct", "fields": [schema_field("a", "long", **{"delta.invariants": "x"})]}
    shown = table_metadata([schema_field("s", {"type": "array", "elementType": inner})])
    assert answered(TableProtocol(1, 1), shown=shown) == TableProtocol(1, 2)


def test_only_negotiated_reader_features_are_named() -> None:
    table = listing("deletionVectors", "timestampNtz", writers=("appendOnly",))
    assert answered(table, "deletionVectors") == TableProtocol(
        3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly")
    )


def test_a_negotiated_feature_that_the_writers_lack_is_added_to_them() -> None:
    table = TableProtocol(3, 7, ("deletionVectors",), ("appendOnly",))
    found = answered(table, "deletionVectors")
    assert found.writer_features == ("appendOnly", "deletionVectors")


def test_a_protocol_with_writer_features_alone_gets_no_reader_features() -> None:
    table = TableProtocol(1, 7, None, ("appendOnly", "inCommitTimestamp"))
    assert answered(table, "columnMapping") == TableProtocol(1, 7, None, ("appendOnly",))


def test_timestamps_of_commits_are_not_named_for_the_log_of_a_recipient() -> None:
    table = listing(writers=("inCommitTimestamp", "domainMetadata"))
    assert answered(table).writer_features == ("domainMetadata",)


def test_enabled_writer_features_are_named_once_and_sorted() -> None:
    shown = metadata(
        delta__enableChangeDataFeed="true", delta__appendOnly="true", delta__constraints__c="id > 0"
    )
    found = answered(listing(writers=("appendOnly",)), shown=shown)
    assert found.writer_features == ("appendOnly", "changeDataFeed", "checkConstraints")


@pytest.mark.parametrize(
    ("named", "left"),
    [
        (("rowTracking", "domainMetadata"), ("rowTracking", "domainMetadata")),
        (("rowTracking",), ()),
        (("icebergCompatV1", "domainMetadata"), ("domainMetadata",)),
        # A chain: without `domainMetadata` there is no `rowTracking`, and so on.
        (
            ("icebergWriterCompatV3", "icebergCompatV3", "columnMapping", "rowTracking"),
            ("columnMapping",),
        ),
        (("catalogManaged", "inCommitTimestamp", "vacuumProtocolCheck"), ("vacuumProtocolCheck",)),
    ],
)
def test_features_whose_dependencies_are_missing_are_left_out(
    named: tuple[str, ...], left: tuple[str, ...]
) -> None:
    readers = [name for name in named if name in READER_FEATURES]
    table = listing(*readers, writers=tuple(name for name in named if name not in readers))
    assert answered(table, *readers).writer_features == left


@pytest.mark.parametrize("version", [1, 3])
def test_a_reader_feature_that_only_the_writers_have_is_left_out(version: int) -> None:
    """Clients reject such protocols, which writers or repairs have left."""
    readers = None if version == 1 else ()
    table = TableProtocol(version, 7, readers, ("appendOnly", "deletionVectors", "timestampNtz"))
    assert answered(table) == TableProtocol(version, 7, readers, ("appendOnly",))


def test_lists_that_versions_do_not_have_are_left_out() -> None:
    """Delta Kernel rejects a protocol with such lists."""
    features = ("deletionVectors",)
    assert answered(TableProtocol(1, 7, features, (*features, "appendOnly"))) == TableProtocol(
        1, 7, None, ("appendOnly",)
    )
    assert answered(TableProtocol(2, 5, features, features)) == TableProtocol(2, 5)


def test_a_dropped_reader_feature_takes_along_what_depends_on_it() -> None:
    table = listing("columnMapping", writers=("icebergCompatV2", "appendOnly"))
    assert answered(table) == TableProtocol(3, 7, (), ("appendOnly",))


def test_required_features_stay_even_without_their_dependencies() -> None:
    table = listing("variantShredding", writers=())
    kept = answered(table, "variantShredding", required=("variantShredding",))
    assert kept.reader_features == ("variantShredding",)
    assert answered(table, "variantShredding").reader_features == ()


def test_features_of_every_metadata_of_the_response_count() -> None:
    shown = [metadata(), metadata(delta__appendOnly="true"), metadata(delta__constraints__c="x")]
    features = AnsweredFeatures.of((), (), shown)
    assert features.writers == {"appendOnly", "checkConstraints"}


V2, V7 = TableProtocol(1, 2), listing("deletionVectors", writers=("appendOnly", "typeWidening-preview"))


@pytest.mark.parametrize(
    ("protocol", "name", "value", "is_named"),
    [
        (V2, "delta.appendOnly", "true", True),
        (V2, "delta.constraints.c", "id > 0", False),
        (V2, "delta.enableChangeDataFeed", "true", False),
        (V2, "delta.enableChangeDataFeed", "false", True),
        (V2, "delta.enableChangeDataFeed", "False", True),
        (TableProtocol(1, 4), "delta.enableChangeDataFeed", "true", True),
        (V2, "delta.columnMapping.mode", "name", False),
        (V2, "delta.columnMapping.mode", "none", True),
        (TableProtocol(2, 5), "delta.columnMapping.mode", "name", True),
        (V2, "delta.checkpointPolicy", "v2", False),
        (V2, "delta.checkpointPolicy", "classic", True),
        (V2, "delta.logRetentionDuration", "interval 1 day", True),
        (V2, "owner", "true", True),
        (V7, "delta.enableDeletionVectors", "true", True),
        (V7, "delta.enableRowTracking", "true", False),
        (V7, "delta.enableTypeWidening", "true", True),  # one of two names is sufficient
        (V7, "delta.appendOnly", "true", True),
        (V7, "delta.enableChangeDataFeed", "true", False),
        (V7, "delta.feature.deletionVectors", "supported", True),
        (V7, "delta.feature.rowTracking", "supported", False),
        (V7, "DELTA.FEATURE.appendOnly", "supported", True),
        (V2, "delta.feature.checkConstraints", "supported", False),
    ],
)
def test_a_property_is_answered_if_the_protocol_names_what_it_enables(
    protocol: TableProtocol, name: str, value: str, is_named: bool
) -> None:
    table = table_metadata([schema_field("id", "long")], **{name: value})
    assert answered_properties(table, protocol) == ({name: value} if is_named else {})
