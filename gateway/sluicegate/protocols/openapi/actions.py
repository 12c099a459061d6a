"""The actions within lines, in both response formats.

Sources: Delta Sharing protocol, "API Response Actions in Parquet Format" and "… in Delta Format".
"""

from __future__ import annotations

from sluicegate.protocols.openapi.listings import directory_access
from sluicegate.protocols.openapi.schemas import (
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
    """The schemas of the actions, by name."""
    return {
        "ParquetProtocol": record(
            "Requirements that a client must support.", {"minReaderVersion": {"const": 1}}
        ),
        "ParquetMetadata": _parquet_metadata(),
        "ParquetFile": _parquet_file(),
        "ParquetChange": _parquet_change(),
        "DeltaProtocol": record(
            "Wraps the log's `protocol`.",
            {"deltaProtocol": _delta_protocol()},
            {"version": whole("The version that introduced it, if historical ones are included.")},
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
            "format": record("Format of the data files.", {"provider": text("`parquet`.")}),
            "configuration": mapping(text("A value."), "`enableChangeDataFeed`, if it is enabled."),
        },
        {**_named(), **_totals(), **directory_access()},
    )


def _delta_protocol() -> Schema:
    features = many(text("A feature, with Delta's capitalization."), "Features of the table.")
    versions = {"minReaderVersion": whole("1 to 3.", 1), "minWriterVersion": whole("1 to 7.", 1)}
    listed = {"readerFeatures": features, "writerFeatures": features}
    return record("The log's action, with the negotiated features.", versions, listed)


def _delta_metadata() -> Schema:
    return record(
        "The log's action.",
        {
            **_described(),
            "format": record(
                "Format of the data files.",
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
    return {
        "name": text("The table's name in its log."),
        "description": text("The table's description in its log."),
    }


def _totals() -> dict[str, Schema]:
    return {
        "version": whole("Its version, in responses to time travel, in streams and change feeds."),
        "size": whole("Bytes of all files that the recipient can see."),
        "numFiles": whole("Number of these files."),
    }


def _parquet_file() -> Schema:
    return record(
        "A data file.",
        {
            "url": text("URL of the file.", format="uri"),
            **_identified(),
            **_content(),
            "expirationTimestamp": _expiration(),
        },
        {**_stats(), **_travelled()},
    )


def _parquet_change() -> Schema:
    told = _content()
    return record(
        "A changed file. Removes of old logs have neither partition values nor size.",
        {
            "url": text("URL of the file.", format="uri"),
            **_identified(),
            "version": whole("The version that changed it."),
            "timestamp": whole("When that version was committed, epoch milliseconds."),
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
        {
            "deletionVectorFileId": text(
                "Id of the deletion vector: a hash of its file's path, or of an inline vector's text."
            ),
            **_travelled(),
        },
    )


def _add() -> Schema:
    return record(
        "The log's action.",
        {
            "path": text("URL of the file.", format="uri"),
            **_content(),
            "modificationTime": whole("Epoch milliseconds."),
            "dataChange": flag("Always true here."),
        },
        {
            **_stats(),
            **_marks(),
            "clusteringProvider": text("The implementation that clustered the file."),
        },
    )


def _remove() -> Schema:
    return record(
        "The log's action.",
        {
            "path": text("URL of the file.", format="uri"),
            "dataChange": flag("Always true here."),
        },
        {
            **_content(),
            **_stats(),
            **_marks(),
            "deletionTimestamp": whole("Epoch milliseconds."),
            "extendedFileMetadata": flag("Whether partition values and size are included."),
        },
    )


def _cdc() -> Schema:
    path = {"path": text("URL of the file.", format="uri")}
    always = {"dataChange": flag("Always false here.")}
    return record("The log's action: changed rows.", {**path, **_content(), **always}, _tags())


def _tags() -> dict[str, Schema]:
    return {"tags": mapping({"type": ["string", "null"]}, "Tags of the log.")}


def _marks() -> dict[str, Schema]:
    return {
        **_tags(),
        "baseRowId": whole("Id of the first row, for row tracking."),
        "defaultRowCommitVersion": whole("Version that added the rows, for row tracking."),
        "deletionVector": {"$ref": "#/components/schemas/DeletionVector"},
    }


def _deletion_vector() -> Schema:
    return record(
        "Rows of the file that are deleted.",
        {
            "storageType": choice("`i` for inline, or `p` for the URL of its file.", "i", "p"),
            "pathOrInlineDv": text("The vector in Base85, or the URL of its file."),
            "sizeInBytes": whole("Size of the vector."),
            "cardinality": whole("Number of deleted rows."),
        },
        {"offset": whole("Where the vector starts in its file.")},
    )


def _identified() -> dict[str, Schema]:
    return {
        "id": text("A hash of the path. The same file always has the same id.", pattern="^[0-9a-f]+$")
    }


def _content() -> dict[str, Schema]:
    values: Schema = {"type": ["string", "null"]}
    return {
        "partitionValues": mapping(values, "Values by partition column. Null and empty mean null."),
        "size": whole("Bytes."),
    }


def _stats() -> dict[str, Schema]:
    return {"stats": text("Row count, minimum and maximum values, and null counts as JSON.")}


def _expiration() -> Schema:
    return whole("When the URL expires, epoch milliseconds.")


def _travelled() -> dict[str, Schema]:
    return {
        "version": whole("The requested version, or the version that changed the file."),
        "timestamp": whole("When that version was committed, epoch milliseconds."),
    }
