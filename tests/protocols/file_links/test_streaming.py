from __future__ import annotations

import logging
import os
from collections import deque
from pathlib import Path

import httpx
import psutil
import pytest
from support.servers.file_link_server import FileLinkServer

MIB = 1 << 20
SIZE = 512 * MIB
BOUND = 96 * MIB  # chunks in flight, buffers of the sockets, and what the allocator keeps


@pytest.fixture
def huge(server: FileLinkServer) -> Path:
    path = server.write("huge", b"")
    os.truncate(path, SIZE)
    return path


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


def test_a_huge_file_is_never_in_memory_whole(server: FileLinkServer, huge: Path) -> None:
    before, peak, received = resident(), 0, 0
    with httpx.stream("GET", server.link("huge")) as response:
        for chunk in response.iter_raw(MIB):
            received += len(chunk)
            peak = max(peak, resident())
    assert received == SIZE
    assert peak - before < BOUND


def test_a_slow_reader_holds_the_stream_back(server: FileLinkServer, huge: Path) -> None:
    before = resident()
    with httpx.stream("GET", server.link("huge")) as response:
        stream = response.iter_raw(MIB)
        for _ in range(8):
            next(stream)
        assert resident() - before < BOUND


@pytest.mark.parametrize("change", ["truncate", "replace", "remove"])
def test_a_file_that_changes_below_a_stream_is_cut_and_not_mixed(
    server: FileLinkServer, huge: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), httpx.stream("GET", server.link("huge")) as response:
        stream = response.iter_raw(MIB)
        next(stream)
        if change == "truncate":
            os.truncate(huge, 2 * MIB)
        else:
            huge.unlink()
        if change == "replace":
            os.truncate(server.write("huge", b"new"), SIZE)
        with pytest.raises(httpx.RemoteProtocolError):
            deque(stream, maxlen=0)
    assert "could not be read to its end" in caplog.text
    assert "Traceback" not in caplog.text
