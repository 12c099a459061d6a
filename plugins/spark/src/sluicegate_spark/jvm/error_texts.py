"""Texts of errors of Java and Python without values of data.

An error that a row causes contains the row's value: `The value 'x' of the type "STRING" cannot be cast
to "INT"`. Operators read tasks and logs, but a value may be hidden even from them. So the text of an
error is shown only if its class says that it is about a cluster, a catalog or a store.
"""

from __future__ import annotations

import re
from typing import Final

_JAVA: Final = r"(?:[A-Za-z_][\w$]*\.)+[A-Z][\w$]*"
_PYTHON: Final = r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)"
# How Spark's scheduler introduces the error of one of its tasks.
_TASK: Final = re.compile(
    r"Lost task \d+\.\d+ in stage \d+\.\d+ \(TID \d+\) \([^()]*\): |"
    r"Exception in task \d+\.\d+ in stage \d+\.\d+ \(TID \d+\): "
)
_THROWN: Final = re.compile(rf"(?<![\w.$/])({_JAVA}|{_PYTHON})(?::\s|$)")
_BEGIN: Final = re.compile(rf"\s*(?:Caused by: |Suppressed: )?({_JAVA}|{_PYTHON})(?::\s|$)")
_FRAME: Final = re.compile(r'\s+(?:at [\w.$/<>()@: -]+|\.\.\. \d+ more|File "[^"]*", line \d+.*)$')
_HEADING: Final = re.compile(r"\s*(?:Traceback \(most recent call last\):|Driver stacktrace:)$")
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_STATE: Final = re.compile(r"SQLSTATE: ([0-9A-Z]{5})(?=\W|$)")
# Packages whose errors are about connections, permissions, commits and files, not about rows.
_SAFE: Final = (
    "com.amazonaws.",
    "com.azure.",
    "com.google.",
    "java.io.",
    "java.net.",
    "java.nio.",
    "java.lang.ClassNotFoundException",
    "java.lang.NoClassDefFoundError",
    "java.lang.NoSuchMethodError",
    "java.lang.OutOfMemoryError",
    "java.util.concurrent.",
    "javax.net.",
    "org.apache.hadoop.",
    "org.apache.iceberg.exceptions.",
    "software.amazon.",
)
# Statements name tables and columns, and errors of data sources name files.
_SAFE_STATES: Final = ("0A", "42", "KD")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_PARTITION: Final = re.compile(r"=[^/=\s]+(?=/)")
_NUMBER: Final = re.compile(r"(?<![\w`.])\d[\w.]*")
_LITERAL: Final = re.compile(r"'(?:[^'\\]|\\.|'')*(?:'|$)|\"(?:[^\"\\]|\\.)*(?:\"|$)")
_NAME: Final = re.compile(r"(`(?:[^`]|``)*`)")
_FRAGMENT: Final = 200  # characters


# The error of a row behind that of the task which wrote it, and the part of the statement.
_OF_ROW: Final = re.compile(
    r"^\s*(?:Caused by|:)?:? ?org\.apache\.spark\.Spark\w*Exception: "
    r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]",
    re.MULTILINE,
)
_PART: Final = re.compile(r"^== SQL \(.{1,100}\) ==\n(.{1,400})$", re.MULTILINE)
_DATA: Final = "22"  # the class of the SQL standard's states for exceptions of data
_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([A-Za-z_][\w.]{0,99})'")
_FULL: Final = ("No space left on device", "Disk quota exceeded")


def data_error(text: str) -> str | None:
    """Return what is wrong with a row that Spark's tasks could not process, without its values.

    `None` if the text of an error is about something else.
    """
    for found in _OF_ROW.finditer(text):
        state = _STATE.search(text, found.end())
        if state is None or not state[1].startswith(_DATA):
            continue
        part = _PART.search(text, state.end())
        place = masked_sql(part[1]) if part is not None else ""
        return condition_text(found[1], state[1]) + (f" in {place}" if place else "")
    return None


def is_of_data(state: str | None) -> bool:
    """Return whether a state of the SQL standard is that of an error of data, such as an overflow."""
    return state is not None and state.startswith(_DATA)


def missing_module(text: str) -> str | None:
    """Return the module that the Python of Spark's executors lacks, if that is the error."""
    found = _MODULE.search(text)
    return found and found[1]


def is_disk_full(text: str) -> bool:
    """Return whether a disk had no more room."""
    return any(each in text for each in _FULL)


def is_about_statement(condition: str | None, state: str | None) -> bool:
    """Return whether an error condition of Spark is about a statement or a file, and not about rows."""
    return condition is not None and state is not None and state.startswith(_SAFE_STATES)


def condition_text(condition: str, state: str | None) -> str:
    """Return an error condition of Spark, with its state of the SQL standard."""
    return condition if state is None else f"{condition} (SQLSTATE {state})"


def masked(text: str) -> str:
    """Return a text without what is in quotes, and without partition values in paths."""
    return _PARTITION.sub("=…", _QUOTED.sub("'…'", text))


def masked_sql(fragment: str) -> str:
    """Return a part of a statement without its constants."""
    parts = _NAME.split(fragment[:_FRAGMENT])
    parts[::2] = [_NUMBER.sub("…", _LITERAL.sub("'…'", each)) for each in parts[::2]]
    return " ".join("".join(parts).split())


def without_values(text: str) -> str:
    """Return the line of an error: its class, and the text only if it can't contain a value.

    A line without the class of an error is returned as it is.
    """
    thrown = _thrown(text)
    if thrown is None:
        return text
    name, rest = thrown[1], text[thrown.end() :]
    start = text[: thrown.end(1)]
    condition, state = _CONDITION.match(rest), _STATE.search(rest)
    if condition is not None:
        found = condition[1], state and state[1]
        if not is_about_statement(*found):
            return f"{start}: {condition_text(*found)}"
        return f"{start}: {masked(rest)}"
    if not rest:
        return start
    return f"{start}: {masked(rest)}" if name.startswith(_SAFE) else start


def has_error(text: str) -> bool:
    """Return whether a line contains the class of an error, so that the next lines belong to it."""
    return _thrown(text) is not None


def continued(text: str) -> str | None:
    """Return a line after that of an error without values, or `None` to leave it out.

    It can be a frame of the stack, a cause, or the rest of a text with line breaks.
    """
    if _FRAME.fullmatch(text) or _HEADING.fullmatch(text):
        return text
    return without_values(text) if _BEGIN.match(text) else None


def _thrown(text: str) -> re.Match[str] | None:
    """Return the class of the error in a line. A class that Spark's scheduler names decides."""
    task = _TASK.search(text)
    if task is not None and (found := _THROWN.match(text, task.end())) is not None:
        return found
    return _BEGIN.match(text) or _THROWN.search(text)
