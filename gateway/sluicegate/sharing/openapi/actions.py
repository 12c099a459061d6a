"""The actions inside of lines, in both response formats.

Sources: delta-sharing-protocol.md, "API Response Actions in Parquet Format" and "… in Delta Format".
"""

from __future__ import annotations

from sluicegate.sharing.openapi.listings import directory_access
from sluicegate.sharing.openapi.pieces import (
    Schema,
    choice,
    flag,
    many,
    mapping,
    only,
    record,
    text,
    whole,
)


def schemas() -> dict[str, Schema]:
    """The actions by their names in the document."""
    return {
        "ParquetProtocol": record(
            "What a client has to understand.", {"minReaderVersion": {"const": 1}}
        ),
        "ParquetMetadata": _parquet_metadata(),
        "ParquetFile": _parquet_file(),
        "ParquetChange": _parquet_change(),
        "DeltaProtocol": record(
            "Wraps the log's `protocol`.",
            {"deltaProtocol": _delta_protocol()},
            {"version": whole("The version that brought it, where historical ones are told.")},
        ),
        "DeltaMetadata": record(
            "Wraps the log's `metaData`.",
            {"deltaMetadata": _delta_metadata()},
            {**_totals(), **directory_access()},
        ),
        "DeltaFile": _delta_file(),
        "DeletionVector": _deletion_vector(),
    }


def _parquet_metadata() -> Schema:
    return record(
        "The table.",
        {
            **_described(),
            "format": record("Of the data files.", {"provider": text("`parquet`.")}),
            "configuration": mapping(text("A value."), "`enableChangeDataFeed`, where it is on."),
        },
        {**_named(), **_totals(), **directory_access()},
    )


def _delta_protocol() -> Schema:
    features = many(text("A feature, as Delta spells it."), "Of the table.")
    versions = {"minReaderVersion": whole("1 to 3.", 1), "minWriterVersion": whole("1 to 7.", 1)}
    listed = {"readerFeatures": features, "writerFeatures": features}
    return record("The log's action, with the features that were agreed.", versions, listed)


def _delta_metadata() -> Schema:
    return record(
        "The log's action.",
        {
            **_described(),
            "format": record(
                "Of the data files.",
                {"provider": text("`parquet`."), "options": mapping(text("A value."), "Options.")},
            ),
            "configuration": mapping(text("A value."), "The table's properties."),
        },
        {**_named(), "createdTime": whole("Epoch milliseconds.")},
    )


def _described() -> dict[str, Schema]:
    return {
        "id": text("The table's id in its log."),
        "schemaString": text("The schema as JSON."),
        "partitionColumns": many(text("A column."), "Names of the partition columns."),
    }


def _named() -> dict[str, Schema]:
    return {"name": text("The table's own name."), "description": text("The table's own words.")}


def _totals() -> dict[str, Schema]:
    return {
        "version": whole("Its version, in answers to time travel, in streams and change feeds."),
        "size": whole("Bytes of all files that the recipient may see."),
        "numFiles": whole("Number of these files."),
    }


def _parquet_file() -> Schema:
    return record(
        "A data file.",
        {
            "url": text("Where to read it.", format="uri"),
            **_identified(),
            **_content(),
            "expirationTimestamp": _expiration(),
        },
        {**_stats(), **_travelled()},
    )


def _parquet_change() -> Schema:
    told = _content()
    return record(
        "A changed file. Removes of old logs tell neither partition values nor size.",
        {
            "url": text("Where to read it.", format="uri"),
            **_identified(),
            "version": whole("The version that changed it."),
            "timestamp": whole("When that version was made, epoch milliseconds."),
            "expirationTimestamp": _expiration(),
        },
        {**told, **_stats()},
    )


def _delta_file() -> Schema:
    return record(
        "Wraps one of the log's actions; its path is a URL.",
        {
            **_identified(),
            "expirationTimestamp": _expiration(),
            "deltaSingleAction": {
                "description": "One action; `remove` and `cdc` only in streams and change feeds.",
                "oneOf": [only("add", _add()), only("remove", _remove()), only("cdc", _cdc())],
            },
        },
        {"deletionVectorFileId": text("Id of the deletion vector's file."), **_travelled()},
    )


def _add() -> Schema:
    return record(
        "The log's action.",
        {
            "path": text("Where to read it.", format="uri"),
            **_content(),
            "modificationTime": whole("Epoch milliseconds."),
            "dataChange": flag("Always true here."),
        },
        {**_stats(), **_marks(), "clusteringProvider": text("What clustered the file.")},
    )


def _remove() -> Schema:
    return record(
        "The log's action.",
        {
            "path": text("Where to read it.", format="uri"),
            "dataChange": flag("Always true here."),
        },
        {
            **_content(),
            **_stats(),
            **_marks(),
            "deletionTimestamp": whole("Epoch milliseconds."),
            "extendedFileMetadata": flag("Partition values and size are told."),
        },
    )


def _cdc() -> Schema:
    path = {"path": text("Where to read it.", format="uri")}
    always = {"dataChange": flag("Always false here.")}
    return record("The log's action: changed rows.", {**path, **_content(), **always}, _tags())


def _tags() -> dict[str, Schema]:
    return {"tags": mapping({"type": ["string", "null"]}, "The log's own.")}


def _marks() -> dict[str, Schema]:
    return {
        **_tags(),
        "baseRowId": whole("First row's id, for row tracking."),
        "defaultRowCommitVersion": whole("Version that added the rows, for row tracking."),
        "deletionVector": {"$ref": "#/components/schemas/DeletionVector"},
    }


def _deletion_vector() -> Schema:
    return record(
        "Rows of the file that are deleted.",
        {
            "storageType": choice("Inline, or by the URL of its file.", "i", "p"),
            "pathOrInlineDv": text("The vector in Base85, or the URL of its file."),
            "sizeInBytes": whole("Of the vector."),
            "cardinality": whole("Number of deleted rows."),
        },
        {"offset": whole("Where the vector begins in its file.")},
    )


def _identified() -> dict[str, Schema]:
    return {"id": text("A hash of the path: the same file always has the same.", pattern="^[0-9a-f]+$")}


def _content() -> dict[str, Schema]:
    values: Schema = {"type": ["string", "null"]}
    return {
        "partitionValues": mapping(values, "By partition column; null or empty is null."),
        "size": whole("Bytes."),
    }


def _stats() -> dict[str, Schema]:
    return {"stats": text("Row count, bounds and null counts as JSON.")}


def _expiration() -> Schema:
    return whole("When the URL expires, epoch milliseconds.")


def _travelled() -> dict[str, Schema]:
    return {
        "version": whole("The version that was asked for, or that changed the file."),
        "timestamp": whole("When that version was made, epoch milliseconds."),
    }
