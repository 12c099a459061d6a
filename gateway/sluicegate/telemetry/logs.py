"""Routes the records of all loggers to standard error, in one format."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from time import time
from typing import Literal, TypeVar

import orjson

from sluicegate.api.errors import SluicegateError
from sluicegate.telemetry.context import current_request
from sluicegate.telemetry.redaction import is_suspicious, redact_fields
from sluicegate.telemetry.spans import current_trace

# Each record has these attributes first, followed by the caller's `extra` and those of handlers.
_OWN_ATTRIBUTES = len(vars(logging.makeLogRecord({})))
_ADDED_BY_HANDLERS = frozenset({"message", "asctime", "color_message"})
_OUTSIDE_OF_PAIRS = frozenset({"ts", "level", "logger", "message", "exception", "stack_info"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLAIN = re.compile(r"[!#-&(-<>-\[\]-~]+")  # visible ASCII but for quotes, `=` and backslash


class StructuredFormatter(logging.Formatter, ABC):
    """Collects the fields of a log record, redacts secrets, and encodes the fields."""

    def __init__(self, *, show_refusals: bool = False) -> None:
        super().__init__()
        self._show_refusals = show_refusals

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line. As text, the stack of an unexpected exception follows."""
        return self.line(self._fields(record))

    def line(self, fields: Mapping[str, object]) -> str:
        """Return a line of fields, which must begin with those of `opening`, redacted and encoded."""
        line = self._encode(fields)
        return self._encode(redact_fields(fields)) if is_suspicious(line) else line

    @abstractmethod
    def _encode(self, fields: Mapping[str, object]) -> str:
        """Return the fields as text that is safe to print."""

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
    """Formats each record as one JSON object on one line."""

    def _encode(self, fields: Mapping[str, object]) -> str:
        try:
            return orjson.dumps(fields, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:  # a lone surrogate, a huge integer, a cycle: log text instead of nothing
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
    """Return the first fields of every line. `seconds` since the epoch become a time in UTC."""
    fields: dict[str, object] = {
        "ts": f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z",
        "level": level.lower(),
        "logger": logger,
        "message": message,
    }
    request = current_request()
    if request is not None:
        fields["request_id"] = request.id
        if request.client_id is not None:
            fields["client_request_id"] = request.client_id
    trace = current_trace()
    if trace is not None:
        fields["trace_id"], fields["span_id"] = trace
    return fields


def _message(record: logging.LogRecord) -> str:
    """Return the message; unformatted if its arguments don't fit, as `logging` would print them."""
    try:
        return record.getMessage().rstrip()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args}"


@lru_cache(maxsize=2)
def _second(epoch: int) -> str:
    """Return ISO 8601 in UTC. Cached, because busy servers write many lines each second."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _printable(value: object) -> str:
    """Return text without control characters that could forge a line or move a terminal's cursor."""
    text = str(value)
    return text if text.isprintable() else _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _indented(stack: str) -> str:
    return "\n".join(f"    {_printable(line)}" for line in stack.rstrip().split("\n"))


def _pair(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else orjson.dumps(_printable(text)).decode()


LogFormat = Literal["text", "json"]

_T = TypeVar("_T")
_root = logging.getLogger()


class _LineHandler(logging.Handler):
    """Writes to the current `sys.stderr`, which is line-buffered, so nothing is flushed.

    Failures don't stop the caller. The handler then writes only the logger's name, because `logging`
    would print the arguments.
    """

    def __init__(self, formatter: StructuredFormatter) -> None:
        super().__init__()
        self.lines = formatter
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self._write(record.name, self.lines.format, record)

    def write(self, logger: str, fields: Mapping[str, object]) -> None:
        """Write one line that was not created from a record."""
        self.acquire()
        try:
            self._write(logger, self.lines.line, fields)
        finally:
            self.release()

    def _write(self, logger: str, encode: Callable[[_T], str], what: _T) -> None:
        try:
            sys.stderr.write(encode(what) + "\n")
        except Exception as error:
            with suppress(Exception):
                sys.stderr.write(f"{logger}: a record was lost ({type(error).__name__})\n")


def log_fields(logger: logging.Logger, level: int, message: str, fields: dict[str, object]) -> None:
    """Like `logger.log(level, message, extra=fields)`, for lines that every request writes.

    Callers check `logger.isEnabledFor` before they collect the fields. If the gateway's handler is the
    only one, no record is created, which would be most of the cost of a line.
    """
    handlers = _root.handlers
    if len(handlers) == 1 and isinstance(handlers[0], _LineHandler) and not logger.handlers:
        line = opening(time(), logging.getLevelName(level), logger.name, message)
        handlers[0].write(logger.name, line | fields)
    else:
        logger.log(level, "%s", message, extra=fields)


def configure_logging(log_format: LogFormat, level: int) -> Callable[[], None]:
    """Write the records of all loggers to standard error in one format, and return an undo function.

    uvicorn's loggers are routed here, its access log is silenced (`sluicegate.access` is the access
    log), and libraries log from `INFO` on, because their debug output contains requests and signatures.
    """
    access = logging.getLogger("uvicorn.access")
    server = [logging.getLogger("uvicorn"), logging.getLogger("uvicorn.error")]
    # Alembic's own plugins: operators would take the lines of a migration for the gateway's plugins.
    alembic = logging.getLogger("alembic.runtime.plugins")
    before = [
        (logger, logger.handlers[:], logger.level, logger.propagate, logger.disabled)
        for logger in (_root, access, alembic, *server)
    ]
    formatter = JsonFormatter if log_format == "json" else TextFormatter
    handler = _LineHandler(formatter(show_refusals=level <= logging.DEBUG))
    if level <= logging.DEBUG:
        handler.addFilter(_is_ours_or_no_debugging)
    _root.handlers[:] = [handler]
    _root.setLevel(level)
    access.disabled = True
    alembic.setLevel(max(level, logging.WARNING))
    for logger in server:
        logger.handlers.clear()
        logger.propagate = True
    logging.captureWarnings(True)

    def restore() -> None:
        logging.captureWarnings(False)
        for logger, handlers, level_before, propagate, disabled in before:
            logger.handlers[:] = handlers
            logger.setLevel(level_before)
            logger.propagate, logger.disabled = propagate, disabled
        handler.close()

    return restore


def _is_ours_or_no_debugging(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG or record.name.startswith("sluicegate")
