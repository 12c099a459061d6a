"""Without Java and Maven, tests with Spark are skipped, or fail in CI."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process.spark import require_spark


@pytest.mark.parametrize("ci", ["", "true"])
def test_tests_without_java_and_maven(ci: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    outcome = pytest.fail.Exception if ci else pytest.skip.Exception
    with pytest.raises(outcome, match=r"^not available: Spark \(install a JDK 17 and Maven, which"):
        require_spark()
