"""Writes Spark's settings to private files, because any user can read command lines of processes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Spark's launcher puts the values of these on Java's command line.
_JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ESCAPED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {
    ord(mark): f"\\{mark}" for mark in " =:#!"
}
_QUOTED: Final = {ord(mark): escape for mark, escape in _ESCAPES.items()} | {ord('"'): '\\"'}


def write_settings(folder: Path, settings: Mapping[str, str]) -> Path:
    """Write a file for `spark-submit --properties-file`.

    Each of Java's own options is written to a separate file of arguments. The launcher passes only
    the file name.
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
    """Escape for `java.util.Properties`. Non-ASCII characters stay UTF-8, as Spark expects."""
    return text.translate(_ESCAPED)


def _quoted(option: str) -> str:
    """Quote for Java's argument files (JDK documentation, "Command-Line Argument Files")."""
    return option.translate(_QUOTED)
