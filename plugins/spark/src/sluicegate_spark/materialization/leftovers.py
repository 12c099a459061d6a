"""Deletes the files that a failed refresh wrote, and that no version of the copy names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.cluster import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VIEW: Final = "sluicegate_files"
# VACUUM keeps young files, which other writers might be about to commit. A copy has one writer. The
# expressions are nullable, as VACUUM requires of an inventory.
_INVENTORY: Final = (
    "path",
    "length",
    "if(length >= 0, false, NULL) AS isDir",
    "if(length >= 0, 0L, NULL) AS modificationTime",
)


def delete_uncommitted(spark: SparkSession, name: str, location: str, hours: float) -> None:
    """Delete the files in a table's directory that no version names, whenever they were written.

    Files of earlier versions remain for the retention period. Requires that no other task writes.
    """
    _files(spark, location).selectExpr(*_INVENTORY).createOrReplaceTempView(_VIEW)
    try:
        spark.sql(
            f"VACUUM {name} USING INVENTORY (SELECT * FROM {_VIEW}) "  # noqa: S608 (a constant)
            f"RETAIN {hours:.6f} HOURS"
        ).collect()
    finally:
        spark.catalog.dropTempView(_VIEW)


def is_empty(spark: SparkSession, location: str) -> bool:
    """Return whether there are no data files in a directory, or there is no directory."""
    from pyspark.errors import AnalysisException

    try:
        found: int = _files(spark, location).limit(1).count()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return True
        raise
    return found == 0


def delete_directory(spark: SparkSession, location: str) -> None:
    """Delete a directory in which a failed refresh was to create the table.

    A Spark Connect server offers no way to do this. There, VACUUM deletes the files once there is a
    table.
    """
    if is_connect(spark):
        return
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(location)
    java: Any = spark._jsparkSession
    path.getFileSystem(java.sessionState().newHadoopConf()).delete(path, True)


def _files(spark: SparkSession, location: str) -> DataFrame:
    return spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(location)
