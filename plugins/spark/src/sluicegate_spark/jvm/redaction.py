"""Which of Spark's settings are secrets, by their names."""

from __future__ import annotations

from typing import Final

# Spark's own pattern, and the name that Iceberg gives to a client's id and secret.
SECRET_NAMES: Final = "(?i)secret|password|token|access[._-]?key|credential"  # noqa: S105 (a pattern)
