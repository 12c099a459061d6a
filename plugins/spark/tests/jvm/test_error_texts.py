"""Lines of errors, which lose values of data."""

from __future__ import annotations

import pytest

from sluicegate_spark.jvm.error_texts import continued, masked_sql, without_values

CAST = "[CAST_INVALID_INPUT] The value 'SECRET' cannot be cast. SQLSTATE: 22018"
LOST = "Job aborted due to stage failure: Lost task 0.0 in stage 0.0 (TID 0) (host executor driver): "


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Utils: nothing to hide", "Utils: nothing to hide"),
        (
            f"org.apache.spark.SparkNumberFormatException: {CAST}",
            "org.apache.spark.SparkNumberFormatException: CAST_INVALID_INPUT (SQLSTATE 22018)",
        ),
        ("java.lang.RuntimeException: SECRET", "java.lang.RuntimeException"),
        (
            "Caused by: java.lang.ArithmeticException: SECRET",
            "Caused by: java.lang.ArithmeticException",
        ),
        ("ValueError: SECRET", "ValueError"),
        ("pyarrow.lib.ArrowInvalid: SECRET", "pyarrow.lib.ArrowInvalid"),
        (
            f"org.apache.spark.SparkException: {LOST}org.x.Broken$Row: SECRET",
            f"org.apache.spark.SparkException: {LOST}org.x.Broken$Row",
        ),
        (
            f"org.apache.spark.SparkException: {LOST}java.net.ConnectException: refused: lake:9000",
            f"org.apache.spark.SparkException: {LOST}java.net.ConnectException: refused: lake:9000",
        ),
        # What a value contains does not decide.
        ("java.lang.RuntimeException: java.net.Fake: SECRET", "java.lang.RuntimeException"),
        (
            f"a.B: {LOST}org.x.Broken: java.net.Fake: SECRET SQLSTATE: 42000",
            f"a.B: {LOST}org.x.Broken",
        ),
        (
            "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Error while reading "
            "file file:///lake/ssn=SECRET/a.parquet. SQLSTATE: KD001",
            "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Error while reading "
            "file file:///lake/ssn=…/a.parquet. SQLSTATE: KD001",
        ),
        (
            "org.apache.iceberg.exceptions.ValidationException: Found files that can contain "
            'records matching ref(name="ssn") == "SECRET": [s3://lake/ssn=SECRET/a.parquet]',
            "org.apache.iceberg.exceptions.ValidationException: Found files that can contain "
            "records matching ref(name='…') == '…': [s3://lake/ssn=…/a.parquet]",
        ),
        (
            "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: "
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK violated by row with values: SECRET",
            "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: "
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        ),
    ],
)
def test_the_class_of_an_error_decides_whether_its_text_is_shown(line: str, shown: str) -> None:
    assert without_values(line) == shown


@pytest.mark.parametrize("line", ["SECRET", "  SECRET", "\tat SECRET and more, that is no frame", ""])
def test_the_rest_of_a_text_is_left_out(line: str) -> None:
    assert continued(line) is None


def test_a_part_of_a_statement_keeps_its_names() -> None:
    text = "CAST(`v ``2`` 'x'` AS INT) + concat('SECRET', \"SECRET\", 4711, a.b2) || 'SECRET"
    assert masked_sql(text) == "CAST(`v ``2`` 'x'` AS INT) + concat('…', '…', …, a.b2) || '…'"
