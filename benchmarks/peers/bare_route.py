"""A bare Starlette route under uvicorn, run by processes: `python -m benchmarks.peers.bare_route FD`.

It is what any server built on these two pays at least; the gateway's own share comes on top.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks.peers.remote_signing import signing_routes

PATH = "/shares"


@dataclass(frozen=True)
class BareServer:
    """The processes, and where they answer."""

    pids: tuple[int, ...]
    address: str


@contextmanager
def bare_server(processes: int = 1) -> Iterator[BareServer]:
    """Serve the route on a free port until the block ends; connections wait until it is ready."""
    with ExitStack() as stack:
        with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
            started = [_started(listener, stack) for _ in range(processes)]
            address = "http://{}:{}".format(*listener.getsockname())
        yield BareServer(tuple(process.pid for process in started), address)


def _started(listener: socket.socket, stack: ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.bare_route", str(listener.fileno())],
        pass_fds=[listener.fileno()],
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


async def _shares(request: Request) -> JSONResponse:
    return JSONResponse({"items": [{"name": "sales"}]})


def _serve(listener: socket.socket) -> None:
    config = uvicorn.Config(
        Starlette(routes=[Route(PATH, _shares), *signing_routes()]),
        loop="none",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="error",
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
