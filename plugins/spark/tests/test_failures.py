from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkRuntimeError

from sluicegate_spark.failures import failed_on_spark

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


def test_a_failure_tells_no_secret_and_no_signature() -> None:
    said = "GET https://store/key?X-Amz-Signature=abc with a-secret was refused"
    failure = failed_on_spark(AnalysisException(said), {"a-secret"})
    assert failure is not None
    assert failure.message.endswith("GET https://store/key?… with … was refused")


def test_a_spark_that_does_not_start_leads_to_javas_own_words() -> None:
    failure = failed_on_spark(
        PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    )
    assert failure is not None
    assert failure.message.startswith("Spark did not start; the worker's log contains Java's output")
    assert failure.retryable


def test_what_spark_has_no_part_in_is_not_its_failure() -> None:
    assert failed_on_spark(ValueError("ours")) is None


def test_an_error_of_spark_connect_tells_its_details() -> None:
    connect = pytest.importorskip("pyspark.errors.exceptions.connect", exc_type=ImportError)
    failure = failed_on_spark(connect.SparkConnectGrpcException(OVER_GRPC))
    assert failure is not None
    assert failure.retryable
    assert failure.detail == 'details = "org/apache/Missing$Builder"'
