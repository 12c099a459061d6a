"""Routes the records of all loggers to standard error, in one format."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import time
from typing import Literal, TypeVar

from sluicegate.telemetry.formatters import JsonFormatter, StructuredFormatter, TextFormatter, opening

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
    before = [
        (logger, logger.handlers[:], logger.level, logger.propagate, logger.disabled)
        for logger in (_root, access, *server)
    ]
    formatter = JsonFormatter if log_format == "json" else TextFormatter
    handler = _LineHandler(formatter(show_refusals=level <= logging.DEBUG))
    if level <= logging.DEBUG:
        handler.addFilter(_is_ours_or_no_debugging)
    _root.handlers[:] = [handler]
    _root.setLevel(level)
    access.disabled = True
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
