"""Extends Spark's redaction of secrets in its event log, UI, and plans.

Sources: Spark documentation, "Configuration" (`spark.redaction.regex`,
`spark.redaction.string.regex`); Spark documentation and source, `SQLConf.redactOptions`,
`Utils.redact`, `EventLoggingListener.redactProperties`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sluicegate.api import SecretStr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMES: Final = (
    "secret|passw|passphrase|token|credential|(?:access|account|private|api|shared)[._-]?key"
)
_PASSWORD_OF_URL: Final = r"://[^\s/:@]*:[^\s/@]+@"  # noqa: S105 (a pattern)
SECRET_NAMES: Final = f"(?i){_NAMES}"
# Spark redacts a setting if its name or value matches. In a text, it redacts each match.
_SETTINGS: Final = f"{SECRET_NAMES}|{_PASSWORD_OF_URL}"
_TEXTS: Final = rf"(?i)(?:{_NAMES})[\w.-]*[\"']?\s*[=:]\s*[\"']?[^\s,;\"')\]]+|{_PASSWORD_OF_URL}"
OF_SESSIONS: Final[Mapping[str, str]] = {
    "spark.sql.redaction.options.regex": _SETTINGS,
    "spark.sql.redaction.string.regex": _TEXTS,
}
OF_STARTS: Final[Mapping[str, str]] = {
    "spark.redaction.regex": _SETTINGS,
    "spark.redaction.string.regex": _TEXTS,
}
_OURS: Final = {**OF_SESSIONS, **OF_STARTS}
_PLACEHOLDER: Final = "(set by tasks)"


def with_our_patterns(given: Mapping[str, str]) -> dict[str, str]:
    """Add the project's redaction patterns to an operator's settings, in Java's syntax."""
    return {
        name: f"(?:{_OURS[name]})|(?:{value})" if name in _OURS else value
        for name, value in given.items()
    }


def secret_settings(settings: Mapping[str, str | SecretStr]) -> frozenset[str]:
    """Return the names of Spark's own settings that might be secret."""
    return frozenset(
        name
        for name, value in settings.items()
        if name.startswith("spark.") and (isinstance(value, SecretStr) or re.search(SECRET_NAMES, name))
    )


def register_names(spark: SparkSession, names: frozenset[str]) -> None:
    """Make the event log redact settings of sessions.

    Spark passes all `spark.…` settings of a session with each job. Its event log redacts only those
    that are also keys of Spark's configuration, whatever their values are there.
    """
    configuration = spark.sparkContext._conf
    for name in names:
        if not configuration.contains(name):
            configuration.set(name, _PLACEHOLDER)


def forget_placeholders(spark: SparkSession, names: frozenset[str]) -> None:
    """Remove registered names from a session, which inherits them from the configuration."""
    for name in names:
        if spark.conf.get(name, None) == _PLACEHOLDER:
            spark.conf.unset(name)
