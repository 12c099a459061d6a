from __future__ import annotations

import traceback
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    NumberFormatException,
    PySparkRuntimeError,
    PythonException,
)

from sluicegate.api import TableUnreadable, TaskFailed
from sluicegate_spark.failures import errors_without_values, failed_on_spark, reason_of

VALIDATION = (
    "An error occurred while calling o57.sql.\n"
    ": org.apache.iceberg.exceptions.ValidationException: Cannot find field 'nope'\n"
    "\tat org.apache.iceberg.SortOrder$Builder.addSortField(SortOrder.java:249)"
)
CONFLICT = (
    "An error occurred while calling o57.sql.\n"
    ": org.apache.iceberg.exceptions.ValidationException: Missing required files to delete\n"
    "\tat org.apache.iceberg.SnapshotProducer.apply(SnapshotProducer.java:249)"
)

OVER_GRPC = (
    "<_MultiThreadedRendezvous of RPC that terminated with:\n"
    "\tstatus = StatusCode.UNKNOWN\n"
    '\tdetails = "org/apache/Missing$Builder"\n'
    '\tdebug_error_string = "UNKNOWN:Error received from peer"\n>'
)


@pytest.mark.parametrize(
    ("error", "retryable", "detail"),
    [
        (AnalysisException("[NO] no such column\n== SQL =="), False, "[NO] no such column"),
        (IllegalArgumentException("Cannot use options [nope]"), False, "Cannot use options [nope]"),
        (
            Py4JError(VALIDATION),
            False,
            "org.apache.iceberg.exceptions.ValidationException: Cannot find field 'nope'",
        ),
        (
            Py4JError(CONFLICT),
            True,
            "org.apache.iceberg.exceptions.ValidationException: Missing required files to delete",
        ),
        (ConnectionRefusedError("no server"), True, "no server"),
    ],
)
def test_a_wrong_statement_is_terminal_and_the_rest_is_tried_again(
    error: Exception, retryable: bool, detail: str
) -> None:
    failure = failed_on_spark(error)
    assert failure is not None
    assert failure.error_code == "ENGINE_FAILED"
    assert (failure.retryable, failure.detail) == (retryable, detail)
    assert (detail in failure.message) is not retryable


def test_a_commit_that_the_catalog_did_not_confirm_has_its_own_code() -> None:
    thrown = "org.apache.iceberg.exceptions.CommitStateUnknownException: Service failed: 502"
    failure = failed_on_spark(Py4JError(f"An error occurred while calling o57.sql.\n: {thrown}"))
    assert failure is not None
    assert (failure.error_code, failure.retryable) == ("COMMIT_STATE_UNKNOWN", True)


def test_a_failure_contains_no_secret_and_no_signature() -> None:
    said = "GET https://store/key?X-Amz-Signature=abc with a-secret was refused"
    failure = failed_on_spark(AnalysisException(said), {"a-secret"})
    assert failure is not None
    assert failure.message.endswith("GET https://store/key?… with … was refused")


class OfARow(NumberFormatException):  # type: ignore[misc]  # untyped without PySpark
    """An error as Spark raises it, whose conditions Python does not know."""

    __module__ = "pyspark.errors"
    condition, state = "CAST_INVALID_INPUT", "22018"

    def getCondition(self) -> str:  # noqa: N802 # as in PySpark
        return self.condition

    def getSqlState(self) -> str:  # noqa: N802 # as in PySpark
        return self.state

    def getQueryContext(self) -> list[Any]:  # noqa: N802 # as in PySpark
        return [SimpleNamespace(fragment=lambda: "CAST(`v` AS INT) = 'SECRET'")]


class Mismatch(OfARow):
    __module__ = "pyspark.errors"
    condition, state = "DELTA_REPLACE_WHERE_MISMATCH", "44000"


Mismatch.__name__ = "AnalysisException"


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (
            Mismatch("[DELTA_REPLACE_WHERE_MISMATCH] Invalid data: country=SECRET"),
            "DELTA_REPLACE_WHERE_MISMATCH (SQLSTATE 44000) in CAST(`v` AS INT) = '…'",
        ),
        (Py4JError("An error occurred while calling o1.x.\n: a.B: SECRET"), "a.B"),
        (Py4JError("SECRET"), "Py4JError"),
        (PythonException("An exception was thrown.\nValueError: SECRET"), "PythonException"),
    ],
)
def test_a_failure_contains_no_value(error: Exception, detail: str) -> None:
    failure = failed_on_spark(error)
    assert failure is not None
    assert failure.detail == detail
    assert "SECRET" not in failure.message


WRITE_FAILED = (
    "An error occurred while calling o92.createOrReplace.\n: org.apache.spark.SparkException: "
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/a. SQLSTATE: 58030\n"
    "\tat org.apache.spark.sql.delta.files.DeltaFileFormatWriter$.executeTask(X.scala:471)\n"
)
OF_A_CAST = (
    f"{WRITE_FAILED}Caused by: org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The "
    'value \'SECRET\' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018\n'
    "== SQL (line 1, position 1) ==\nCAST(v AS INT) + 'SECRET'\n^^^^^^^^^^^^^^\n"
)
OF_A_SUM = (
    f"{WRITE_FAILED}Caused by: org.apache.spark.SparkArithmeticException: [ARITHMETIC_OVERFLOW] long "
    "overflow. SQLSTATE: 22003\n== DataFrame ==\n"
)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Py4JError(OF_A_CAST), "CAST_INVALID_INPUT (SQLSTATE 22018) in CAST(v AS INT) + '…'; correct"),
        (Py4JError(OF_A_SUM), "ARITHMETIC_OVERFLOW (SQLSTATE 22003); correct"),
        (
            OfARow("[CAST_INVALID_INPUT] The value 'SECRET' cannot be cast. SQLSTATE: 22018"),
            "CAST_INVALID_INPUT (SQLSTATE 22018) in CAST(`v` AS INT) = '…'; correct",
        ),
    ],
)
def test_an_error_of_data_is_final_and_names_column_and_kind(error: Exception, kind: str) -> None:
    failure = failed_on_spark(error)
    assert failure is not None
    assert (failure.error_code, failure.retryable) == ("ENGINE_FAILED", False)
    assert kind in failure.message
    assert "SECRET" not in f"{failure.message} {failure.detail}"


def test_a_python_without_the_plugin_is_named_and_final() -> None:
    thrown = "\nTraceback (most recent call last):\nModuleNotFoundError: No module named "
    for error in (
        PythonException(f"An exception was thrown.{thrown}'sluicegate_spark'"),
        Py4JError(
            f"{WRITE_FAILED}Caused by: org.apache.spark.api.python.PythonException:{thrown}'obstore'"
        ),
    ):
        failure = failed_on_spark(error)
        assert failure is not None
        assert not failure.retryable
        assert "has no module '" in failure.message


@pytest.mark.parametrize("reason", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_says_so_and_is_tried_again(reason: str) -> None:
    failure = failed_on_spark(Py4JError(f"{WRITE_FAILED}Caused by: java.io.IOException: {reason}"))
    assert failure is not None
    assert failure.retryable
    assert "a disk is full" in failure.message


def test_unexpected_errors_lose_their_texts_and_keep_their_stack() -> None:
    with pytest.raises(TaskFailed) as raised, errors_without_values():
        raise ValueError("SECRET")
    failed = raised.value
    assert (failed.error_code, failed.retryable, failed.detail) == (
        "INTERNAL_ERROR",
        True,
        "ValueError",
    )
    assert "SECRET" not in "".join(traceback.format_exception(failed)).replace('("SECRET")', "")
    with pytest.raises(TableUnreadable, match="ours"), errors_without_values():
        raise TableUnreadable("ours")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (pa.ArrowInvalid("SECRET"), "ArrowInvalid"),
        (ValueError("SECRET"), "ValueError"),
        (
            PermissionError("denied: s3://lake/x?X-Amz-Signature=a"),
            "PermissionError: denied: s3://lake/x?…",
        ),
    ],
)
def test_reasons_are_texts_of_stores_only(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


def test_a_spark_that_does_not_start_leads_to_javas_own_words() -> None:
    failure = failed_on_spark(
        PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    )
    assert failure is not None
    assert failure.message.startswith("Spark did not start; the worker's log contains Java's output")
    assert failure.retryable


def test_what_spark_has_no_part_in_is_not_its_failure() -> None:
    assert failed_on_spark(ValueError("ours")) is None


def test_an_error_of_spark_connect_has_its_details() -> None:
    connect = pytest.importorskip("pyspark.errors.exceptions.connect", exc_type=ImportError)
    failure = failed_on_spark(connect.SparkConnectGrpcException(OVER_GRPC))
    assert failure is not None
    assert failure.retryable
    assert failure.detail == 'details = "org/apache/Missing$Builder"'
