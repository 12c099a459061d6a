from __future__ import annotations

import os
import subprocess
import sys

from support.process.forked import ForkedCommand


def test_a_signal_to_a_command_that_just_ended_is_no_error() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    status, written = os.pipe()  # the server has seen the end, and reports it after the signal
    command = ForkedCommand(("serve",), ended.pid, status)
    command.terminate()
    os.write(written, b"0 0.25")
    os.close(written)
    assert command.wait() == 0
