"""Settings of Spark as private files: everyone on a machine can read a process's command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Spark's launcher puts the value of each onto the command line of Java.
_JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ESCAPED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {
    ord(mark): f"\\{mark}" for mark in " =:#!"
}
_QUOTED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {ord('"'): '\\"'}


def write_settings(folder: Path, settings: Mapping[str, str]) -> Path:
    """Write what `spark-submit --properties-file` reads.

    Java's own options become a file of arguments each, which the launcher only names.

    Args:
        folder: A private one.
        settings: By their names.
    """
    named = dict(settings)
    for name in _JAVA_OPTIONS:
        if options := shlex.split(settings.get(name, "")):
            lines = (f'"{_quoted(option)}"\n' for option in options)
            named[name] = f"@{_write(folder / name, ''.join(lines))}"
    lines = (f"{_escaped(name)}={_escaped(value)}\n" for name, value in named.items())
    return _write(folder / "spark.properties", "".join(lines))


def _write(file: Path, text: str) -> Path:
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(text, encoding="utf-8")
    return file


def _escaped(text: str) -> str:
    """As `java.util.Properties` reads it; what is not ASCII is UTF-8, as Spark wants it."""
    return text.translate(_ESCAPED)


def _quoted(option: str) -> str:
    """As Java reads an argument in a file of them (JDK, `java`, "Command-Line Argument Files")."""
    return option.translate(_QUOTED)
