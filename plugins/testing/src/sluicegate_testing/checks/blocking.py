"""Finds calls that block the event loop, and their positions.

Two methods complement each other. Audit hooks detect calls in the loop's thread that can block, even if
they return quickly: opening files, connecting, resolving names, starting processes, sleeping, waiting
for threads. Other blocking calls, such as those in compiled libraries, are detected if the loop makes
no progress while its thread uses no CPU.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Any

_EVENTS = frozenset(
    {
        *("open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
        *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
        *("subprocess.Popen", "os.system", "sqlite3.connect", "fcntl.flock", "fcntl.lockf"),
    }
)
_READS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (socket.socket, ("accept", "recv", "recv_into", "recvfrom", "recvmsg", "send", "sendall")),
    (ssl.SSLSocket, ("do_handshake", "recv", "recv_into", "read", "send", "sendall")),
)
# Imports read files, but only once. The others belong to the kit and the loop itself.
_EXEMPT = (
    *("importlib", "_frozen_importlib", "asyncio.unix_events", "asyncio.windows_events"),
    *("_pytest", "pytest", "linecache", "tracemalloc", "warnings"),
)
_BEAT_SECONDS = 0.02
_SAMPLE_SECONDS = 0.05
# Half a second: longer than a garbage collection or a long computation in C that holds the GIL.
_IDLE_SAMPLES = 10
_LATE = 2.0

_recorded: dict[int, list[str]] = {}
_hooked = threading.Event()


@asynccontextmanager
async def never_blocking() -> AsyncIterator[None]:
    """Fail if code in the block blocks its event loop.

    Raises:
        AssertionError: A call blocks the loop. The message names the calls and their positions.
    """
    found: list[str] = []
    thread = threading.get_ident()
    with _recording(thread, found), _stall_recorded(thread, found) as beat:
        ticking = asyncio.create_task(_tick(beat))
        try:
            yield
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
    blocked = "; ".join(dict.fromkeys(found))
    assert not found, f"the event loop is blocked by {blocked}: call it in a thread, or await it"


class _Beat:
    """Counts the iterations of the loop."""

    def __init__(self) -> None:
        self.count = 0


async def _tick(beat: _Beat) -> None:
    while True:
        beat.count += 1
        await asyncio.sleep(_BEAT_SECONDS)


# --- calls that can block -------------------------------------------------------------------------


@contextmanager
def _recording(thread: int, found: list[str]) -> Iterator[None]:
    """Record calls in a thread. Audit hooks cannot be removed, but do nothing after the block."""
    if not _hooked.is_set():
        _hooked.set()
        sys.addaudithook(_audit)
    _recorded[thread] = found
    try:
        with _patched():
            yield
    finally:
        del _recorded[thread]


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and _recorded and _can_block(event, arguments):
        _record(event if event != "open" else "opening a file")


def _can_block(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":  # a number is a file that is open already
        return not isinstance(arguments[0], int)
    return event != "socket.connect" or bool(arguments[0].gettimeout() != 0)


@contextmanager
def _patched() -> Iterator[None]:
    """Record calls that raise no audit event."""
    changed: list[tuple[Any, str, Any]] = [
        (time, "sleep", _recorded_call("time.sleep", time.sleep)),
        (threading.Condition, "wait", _recorded_call("a wait for a thread", threading.Condition.wait)),
    ]
    for kind, names in _READS:
        changed += [(kind, name, _recorded_socket_call(name, getattr(kind, name))) for name in names]
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in changed]
    for owner, name, value in changed:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            if value is None:  # it was inherited
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def _recorded_call(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _record(what)
        return function(*arguments, **named)

    return call


def _recorded_socket_call(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: socket.socket, *arguments: Any, **named: Any) -> Any:
        if self.gettimeout() != 0:
            _record(f"socket.{name}")
        return function(self, *arguments, **named)

    return call


def _record(what: str) -> None:
    found = _recorded.get(threading.get_ident())
    if found is None:
        return
    place = _place(sys._getframe(2))
    if place is not None:
        found.append(f"{what} {place}")


def _place(innermost: FrameType | None) -> str | None:
    """Return the innermost position outside of Python's library; `None` for allowed callers."""
    frame, place = innermost, None
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_EXEMPT) or (module, frame.f_code.co_name) == ("threading", "start"):
            return None
        if module == "asyncio.events":  # the loop runs a task from here
            break
        if place is None and _is_foreign(module):
            place = f"in {frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
        frame = frame.f_back
    return place


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in sys.stdlib_module_names and module != __name__


# --- a loop that makes no progress ----------------------------------------------------------------


@contextmanager
def _stall_recorded(thread: int, found: list[str]) -> Iterator[_Beat]:
    """Sample from another thread whether the loop makes no progress although its thread is idle."""
    beat, stop = _Beat(), threading.Event()
    watcher = threading.Thread(target=_sample, args=(thread, beat, stop, found), daemon=True)
    watcher.start()
    try:
        yield beat
    finally:
        stop.set()
        watcher.join()


def _sample(thread: int, beat: _Beat, stop: threading.Event, found: list[str]) -> None:
    idle, last, used = 0, beat.count, _cpu_seconds(thread)
    began = time.monotonic()
    while not stop.wait(_SAMPLE_SECONDS):
        now, count, cpu = time.monotonic(), beat.count, _cpu_seconds(thread)
        # If this thread itself is late, the machine is busy, and the sample is not significant.
        is_sample = now - began < _LATE * _SAMPLE_SECONDS
        stands_still = count == last and count > 0 and cpu - used < _SAMPLE_SECONDS / 2
        idle = (idle + is_sample) if stands_still else 0
        if idle == _IDLE_SAMPLES:
            # No place means an import, or that the loop itself waits: no code of the plugin blocks it.
            place = _place(sys._current_frames().get(thread))
            if place is not None:
                found.append(f"a call that does not return {place}")
        last, used, began = count, cpu, now


def _cpu_seconds(thread: int) -> float:
    """Return the CPU time of a thread, if the platform reports it."""
    clock = getattr(time, "pthread_getcpuclockid", None)
    return time.clock_gettime(clock(thread)) if clock is not None else 0.0
