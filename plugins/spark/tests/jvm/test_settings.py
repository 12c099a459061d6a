"""Spark's settings in files, without a JVM."""

from __future__ import annotations

import stat
from pathlib import Path

from sluicegate_spark.jvm.launch import write_settings


def test_settings_are_private_files_and_no_command_line_has_a_value(tmp_path: Path) -> None:
    written = write_settings(
        tmp_path,
        {
            "spark.hadoop.fs.s3a.secret.key": " a=b:c#d!\\e\nf ü",
            "spark.driver.extraJavaOptions": "-Dx.password='so \"secret\\'",
        },
    )
    options = tmp_path / "spark.driver.extraJavaOptions"
    assert written.read_text(encoding="utf-8").splitlines() == [
        r"spark.hadoop.fs.s3a.secret.key=\ a\=b\:c\#d\!\\e\nf\ ü",
        rf"spark.driver.extraJavaOptions=@{options}",
    ]
    assert options.read_text() == '"-Dx.password=so \\"secret\\\\"\n'
    assert {stat.S_IMODE(file.stat().st_mode) for file in (written, options)} == {0o600}
