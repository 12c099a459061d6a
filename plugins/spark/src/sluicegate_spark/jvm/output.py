"""Logs the output of Spark's processes, without secrets and values of data, which Spark shows."""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from sluicegate_spark.jvm.error_texts import continued, has_error, without_values

log = logging.getLogger(__name__)

_CHUNK: Final = 65_536  # bytes
_LONGEST: Final = 65_536  # bytes of a line that are processed; the rest is dropped
_SHOWN: Final = 4_000  # characters of a line, after secrets are removed
_WAITING: Final = 1_000  # lines; Spark never blocks on a slow log
_REMEMBERED: Final = 200  # secrets of completed tasks, because output can arrive late
_SHORTEST: Final = 4  # characters; a shorter secret would match parts of ordinary words
_ENDED: Final = None
# Spark's own log format: date, time, level, message.
_HEAD: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LEVELS: Final = {"WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR}


class Readable(Protocol):
    """An unbuffered stream. A buffered one has a lock that a thread may hold when the process exits."""

    def read(self, size: int, /) -> bytes | None:
        """Return some bytes, or none at the end."""

    def close(self) -> None:
        """Close the stream."""


class KnownSecrets:
    """Values that must not appear in output because the executor received them as secrets."""

    def __init__(self, always: Collection[str]) -> None:
        self._always = _parts(always)
        self._running: dict[int, frozenset[str]] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    @contextmanager
    def of_task(self, secrets: Collection[str]) -> Iterator[None]:
        """Hide a task's secrets during the block, and for a while afterwards."""
        parts = _parts(secrets)
        with self._lock:
            self._running[id(parts)] = parts
        try:
            yield
        finally:
            with self._lock:
                del self._running[id(parts)]
                self._ended.extend(parts - set(self._ended))

    def hide(self, text: str) -> str:
        """Return the text without secrets."""
        with self._lock:
            known = self._always.union(self._ended, *self._running.values())
        for secret in sorted(known, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def log_output(
    stream: Readable, hide: Callable[[str], str], running: threading.Event | None = None
) -> threading.Thread:
    """Log the lines of a stream until it ends.

    If the log is slow, lines are dropped and their number is logged.

    Args:
        running: Set when Spark can run tasks. Until then, errors contain no values of data, and their
            texts are logged; by default, never.

    Returns:
        A thread that ends when everything is logged.
    """
    waiting: queue.Queue[bytes | None] = queue.Queue(_WAITING)
    lost = _Lost()
    threading.Thread(target=_read, args=(stream, waiting, lost), name="spark-read", daemon=True).start()
    logging_thread = threading.Thread(
        target=_log, args=(waiting, lost, hide, running), name="spark-log", daemon=True
    )
    logging_thread.start()
    return logging_thread


def lines_of(stream: Readable) -> Iterator[bytes]:
    """Return the lines of a stream, truncated to the maximum length."""
    line = bytearray()
    while chunk := stream.read(_CHUNK):
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                yield bytes(line)
                line.clear()
            line += part[: _LONGEST - len(line)]
    if line:
        yield bytes(line)


class _Lost:
    """Counts dropped lines: the reader increments, the logger resets."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self._count += 1

    def take(self) -> int:
        with self._lock:
            count, self._count = self._count, 0
            return count


def _read(stream: Readable, waiting: queue.Queue[bytes | None], lost: _Lost) -> None:
    for line in lines_of(stream):
        try:
            waiting.put_nowait(line)
        except queue.Full:
            lost.add()
    stream.close()
    waiting.put(_ENDED)


def _log(
    waiting: queue.Queue[bytes | None],
    lost: _Lost,
    hide: Callable[[str], str],
    running: threading.Event | None,
) -> None:
    level, in_error = logging.INFO, False
    while (line := waiting.get()) is not _ENDED:
        text = hide(line.decode(errors="replace").rstrip())
        if head := _HEAD.match(text):
            level = _LEVELS.get(head[1], logging.INFO)
            text = text[head.end() :]
            in_error = False
        # Errors of rows contain the rows' values, also in the lines that follow.
        if running is None or running.is_set():
            shown = continued(text) if in_error else without_values(text)
            in_error = in_error or has_error(text)
            text = shown or ""
        if text:
            log.log(level, "%s", text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        if count := lost.take():
            log.warning("%d lines of Spark's output are missing, because the log is too slow", count)


def _parts(secrets: Collection[str]) -> frozenset[str]:
    """Split secrets with several lines into lines."""
    return frozenset(
        part for secret in secrets for part in secret.splitlines() if len(part) >= _SHORTEST
    )
