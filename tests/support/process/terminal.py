"""Runs the command in a terminal of its own, as a person does."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# Takes the terminal as its controlling one, so that Ctrl-C is a signal. Shells start programs in the
# background with this signal ignored.
_COMMAND = """
import fcntl, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
from sluicegate.cli import main
main()
"""
_PIECE = 4096
_SILENCE = 60.0
_QUESTION = b"[y/N]: "


def run_in_terminal(
    *arguments: str, folder: Path, typed: str = "", environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run the command with a terminal as its standard input, output and error.

    Returns:
        The exit code, and what the terminal shows, with escape sequences, and with what was typed.
    """
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *arguments],
            cwd=folder,
            env={**os.environ, "TERM": "xterm", **(environment or {})},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        shown = b""
        while piece := _read(ours, process):
            shown += piece
            if typed and _QUESTION in shown:
                os.write(ours, typed.encode())
                typed = ""
        return process.wait(), shown.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


def _read(terminal: int, process: subprocess.Popen[bytes]) -> bytes:
    if not select.select([terminal], [], [], _SILENCE)[0]:
        process.kill()
    try:
        return os.read(terminal, _PIECE)
    except OSError:  # nobody has the other end open any more
        return b""
