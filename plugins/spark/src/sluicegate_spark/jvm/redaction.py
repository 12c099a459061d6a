"""What Spark keeps out of its event log, its UI and its plans.

Sources: Spark's documentation, "Configuration" (`spark.redaction.regex`,
`spark.redaction.string.regex`); Spark 4.1, `SQLConf.redactOptions`, `Utils.redact`,
`EventLoggingListener.redactProperties`.
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
# Spark redacts a setting whose name or value has a match, and of a text, what matches.
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
    """An operator's settings, whose patterns redact also what ours do; Java's syntax."""
    return {
        name: f"(?:{_OURS[name]})|(?:{value})" if name in _OURS else value
        for name, value in given.items()
    }


def secret_settings(settings: Mapping[str, str | SecretStr]) -> frozenset[str]:
    """The names of those that are Spark's own and may be secret."""
    return frozenset(
        name
        for name, value in settings.items()
        if name.startswith("spark.") and (isinstance(value, SecretStr) or re.search(SECRET_NAMES, name))
    )


def register_names(spark: SparkSession, names: frozenset[str]) -> None:
    """Let the event log redact settings of sessions.

    Spark hands all `spark.…` settings of a session on with each job. Of these, its event log redacts
    only the ones that Spark's configuration has, too, whatever their values are there.

    Args:
        spark: A session of a Spark in this process.
        names: Of settings that are secret.
    """
    configuration = spark.sparkContext._conf
    for name in names:
        if not configuration.contains(name):
            configuration.set(name, _PLACEHOLDER)


def forget_placeholders(spark: SparkSession, names: frozenset[str]) -> None:
    """Take registered names out of a session, which begins with all that the configuration has."""
    for name in names:
        if spark.conf.get(name, None) == _PLACEHOLDER:
            spark.conf.unset(name)
