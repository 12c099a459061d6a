"""What a log line looks like: JSON or text, with the ids of the request and the trace."""

from __future__ import annotations

import logging
import re
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

import orjson

from sluicegate.errors import SluicegateError
from sluicegate.telemetry.context import current_request
from sluicegate.telemetry.redaction import is_suspicious, redact_fields
from sluicegate.telemetry.spans import current_trace

# A record's own attributes come first; then come the caller's `extra`, and what handlers have added.
_OWN_ATTRIBUTES = len(vars(logging.makeLogRecord({})))
_ADDED_BY_HANDLERS = frozenset({"message", "asctime", "color_message"})
_OUTSIDE_OF_PAIRS = frozenset({"ts", "level", "logger", "message", "exception", "stack_info"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLAIN = re.compile(r"[!#-&(-<>-\[\]-~]+")  # visible ASCII but for quotes, `=` and backslash


class StructuredFormatter(logging.Formatter, ABC):
    """Gathers a record's fields, redacts them where they may hold a secret, and encodes them.

    Args:
        show_refusals: Give the stack of domain errors, too. They are answers to bad requests or name
            what the operator has to mend; where they were raised helps only who debugs the gateway.
    """

    def __init__(self, *, show_refusals: bool = False) -> None:
        super().__init__()
        self._show_refusals = show_refusals

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line (text: followed by the stack of an unexpected exception)."""
        return self.line(self._fields(record))

    def line(self, fields: Mapping[str, object]) -> str:
        """Fields that begin as `opening` gives them, redacted and encoded."""
        line = self._encode(fields)
        return self._encode(redact_fields(fields)) if is_suspicious(line) else line

    @abstractmethod
    def _encode(self, fields: Mapping[str, object]) -> str:
        """The fields as text that is safe to print."""

    def _fields(self, record: logging.LogRecord) -> dict[str, object]:
        fields = opening(record.created, record.levelname, record.name, _message(record))
        for key, value in islice(vars(record).items(), _OWN_ATTRIBUTES, None):
            if key not in _ADDED_BY_HANDLERS:
                fields.setdefault(key, value)
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = self._exception(record.exc_info[1])
        if record.stack_info:
            fields["stack_info"] = record.stack_info
        return fields

    def _exception(self, error: BaseException) -> dict[str, object]:
        described: dict[str, object] = {"type": type(error).__qualname__, "message": str(error)}
        expected = isinstance(error, SluicegateError)
        if isinstance(error, SluicegateError):
            described["code"] = error.code
            if error.detail is not None:
                described["detail"] = error.detail
        if self._show_refusals or not expected:
            described["stack"] = "".join(traceback.format_exception(error))
        return described


class JsonFormatter(StructuredFormatter):
    """One JSON object a line."""

    def _encode(self, fields: Mapping[str, object]) -> str:
        try:
            return orjson.dumps(fields, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:  # a lone surrogate, a huge integer, a cycle: as text rather than not at all
            return orjson.dumps(
                {_printable(key): _printable(value) for key, value in fields.items()}
            ).decode()


class TextFormatter(StructuredFormatter):
    """`time LEVEL logger: message key=value …`, for people at a terminal."""

    def _encode(self, fields: Mapping[str, object]) -> str:
        head = f"{fields['ts']} {str(fields['level']).upper():<7} {fields['logger']}: "
        pairs = [
            f"{key}={_pair(value)}" for key, value in fields.items() if key not in _OUTSIDE_OF_PAIRS
        ]
        stacks = [fields.get("stack_info")]
        exception = fields.get("exception")
        if isinstance(exception, Mapping):
            described = {key: value for key, value in exception.items() if key != "stack"}
            pairs += [f"exception.{key}={_pair(value)}" for key, value in described.items()]
            stacks.append(exception.get("stack"))
        line = " ".join([head + _printable(fields["message"]), *pairs])
        return "\n".join([line, *(_indented(str(stack)) for stack in stacks if stack is not None)])


def opening(seconds: float, level: str, logger: str, message: str) -> dict[str, object]:
    """The fields that every line begins with; `seconds` since the epoch are told in UTC."""
    fields: dict[str, object] = {
        "ts": f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z",
        "level": level.lower(),
        "logger": logger,
        "message": message,
    }
    request = current_request()
    if request is not None:
        fields["request_id"] = request.id
    trace = current_trace()
    if trace is not None:
        fields["trace_id"], fields["span_id"] = trace
    return fields


def _message(record: logging.LogRecord) -> str:
    """The message; where its arguments do not fit, unmerged: `logging` would print them unredacted."""
    try:
        return record.getMessage().rstrip()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args}"


@lru_cache(maxsize=2)
def _second(epoch: int) -> str:
    """ISO 8601 in UTC; busy servers write many lines a second."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _printable(value: object) -> str:
    """The value as text whose control characters cannot forge a line or move a terminal's cursor."""
    text = str(value)
    return text if text.isprintable() else _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _indented(stack: str) -> str:
    return "\n".join(f"    {_printable(line)}" for line in stack.rstrip().split("\n"))


def _pair(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else orjson.dumps(_printable(text)).decode()
