"""A refresh that another task overtakes fails in one way, wherever that is found."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from sluicegate.api import TaskFailed
from sluicegate_spark.materialization.failures import overtaken, races, unfit

THROWN = "An error occurred while calling o57.createOrReplace.\n: io.delta.exceptions."


class ConcurrentAppendException(Exception):
    """An error of Delta Lake for Python."""


@pytest.mark.parametrize(
    "error",
    [
        Py4JError(f"{THROWN}ConcurrentTransactionException: [DELTA_CONCURRENT_TRANSACTION] This"),
        Py4JError(f"{THROWN}MetadataChangedException: The metadata has been changed"),
        Py4JError(f"{THROWN}ProtocolChangedException: The protocol version"),
        AnalysisException("[DELTA_CONCURRENT_DELETE_READ.WITH_PARTITION_HINT] a file"),
        ConcurrentAppendException("Files were added"),
    ],
)
def test_a_lost_race_has_one_message(error: Exception) -> None:
    with pytest.raises(TaskFailed) as failed, races():
        raise error
    assert failed.value.message == overtaken().message
    assert failed.value.retryable


@pytest.mark.parametrize("error", [unfit("no"), Py4JError("java.io.IOException"), KeyError("x")])
def test_other_errors_stay_what_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, races():
        raise error
    assert raised.value is error
