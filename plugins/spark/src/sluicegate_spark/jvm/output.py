"""What Spark's processes print, as lines of the worker's log: Spark redacts nothing of it."""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

log = logging.getLogger(__name__)

_CHUNK: Final = 65_536  # bytes
_LONGEST: Final = 65_536  # bytes of a line that are looked at; what is behind them is dropped
_SHOWN: Final = 4_000  # characters of a line, counted when its secrets are gone
_WAITING: Final = 1_000  # lines; Spark never waits for a log that nobody reads
_REMEMBERED: Final = 200  # secrets of tasks that have ended, since output comes late
_SHORTEST: Final = 4  # characters; a shorter secret would be found in any word
_ENDED: Final = None
# Spark's own pattern of a line: date, time, level, message.
_HEAD: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LEVELS: Final = {"WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR}


class Readable(Protocol):
    """An unbuffered stream: a buffered one has a lock, which a thread holds when the process ends."""

    def read(self, size: int, /) -> bytes | None:
        """Some bytes; none at its end."""

    def close(self) -> None:
        """Close it."""


class KnownSecrets:
    """Values that no output may show, because the executor was given them.

    Args:
        always: Those of its configuration.
    """

    def __init__(self, always: Collection[str]) -> None:
        self._always = _parts(always)
        self._running: dict[int, frozenset[str]] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    @contextmanager
    def of_task(self, secrets: Collection[str]) -> Iterator[None]:
        """Hide a task's secrets, too; for a while also when the block has ended."""
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
        """The text without them."""
        with self._lock:
            known = self._always.union(self._ended, *self._running.values())
        for secret in sorted(known, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def log_output(stream: Readable, hide: Callable[[str], str]) -> threading.Thread:
    """Log the lines of a stream until it ends.

    A slow log loses lines, and says how many.

    Args:
        stream: It is closed at its end.
        hide: Takes known secrets out of a line.

    Returns:
        A thread that ends when all is logged.
    """
    waiting: queue.Queue[bytes | None] = queue.Queue(_WAITING)
    lost = _Lost()
    threading.Thread(target=_read, args=(stream, waiting, lost), name="spark-read", daemon=True).start()
    logging_thread = threading.Thread(
        target=_log, args=(waiting, lost, hide), name="spark-log", daemon=True
    )
    logging_thread.start()
    return logging_thread


def lines_of(stream: Readable) -> Iterator[bytes]:
    """The lines of a stream, each cut where it gets too long."""
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
    """How many lines could not wait; the reader counts up, the logger takes."""

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


def _log(waiting: queue.Queue[bytes | None], lost: _Lost, hide: Callable[[str], str]) -> None:
    level = logging.INFO
    while (line := waiting.get()) is not _ENDED:
        text = hide(line.decode(errors="replace").rstrip())
        if head := _HEAD.match(text):
            level = _LEVELS.get(head[1], logging.INFO)
            text = text[head.end() :]
        if text:
            log.log(level, "%s", text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        if count := lost.take():
            log.warning("%d lines that Spark printed are not in the log: it is too slow", count)


def _parts(secrets: Collection[str]) -> frozenset[str]:
    """Each line of each of them."""
    return frozenset(
        part for secret in secrets for part in secret.splitlines() if len(part) >= _SHORTEST
    )
