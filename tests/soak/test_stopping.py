"""What a service leaves when it is stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

from soak.stopping import left_by

_UNPREPARED = "import signal; print(flush=True); signal.pause()"
_ORDERLY = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {_UNPREPARED}"
_PARENT = f"import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); {_ORDERLY}"


def started(code: str) -> subprocess.Popen[str]:
    """A process that has begun."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def address() -> tuple[socket.socket, str]:
    """A listener, and where it listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, "http://{}:{}".format(*listener.getsockname())


def test_a_service_that_ends_leaves_nothing() -> None:
    listener, place = address()
    listener.close()
    with started(_ORDERLY) as process:
        assert list(left_by(process, place)) == []


def test_another_exit_code_and_an_open_port_are_found() -> None:
    listener, place = address()
    with listener, started(_UNPREPARED) as process:
        found = list(left_by(process, place))
    assert found == ["ended with -15 after SIGTERM", "left its port open"]


def test_a_process_that_is_left_is_found() -> None:
    listener, place = address()
    listener.close()
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.stdout.readline()
        try:
            assert list(left_by(process, place)) == [f"left the processes [{child}]"]
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_service_that_has_ended_by_itself_is_found() -> None:
    listener, place = address()
    listener.close()
    with started("import sys; sys.exit(3)") as process:
        process.wait()
        assert list(left_by(process, place)) == ["has ended by itself with 3"]
