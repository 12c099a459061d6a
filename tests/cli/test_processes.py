"""`sluicegate serve --processes`: one port, several processes, and no request lost between them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest
from support.gateways.gateway import RunningGateway
from support.process.forked import completed, fork
from support.process.installed import Site
from support.process.workers import is_running, running_children, workers_of
from support.servers.serving import script, serving

from sluicegate.http.serving import bind
from sluicegate.http.shared_listener import ProcessCounts
from sluicegate_testing.servers.ports import free_port

SECONDS = 60


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def two_processes(folder: Path) -> Iterator[RunningGateway]:
    (folder / "gateway.yaml").write_text("server: {shutdown_grace_period: 20}\n")
    log = folder / "gateway.log"
    with serving(
        folder, "serve", "--port", "0", "--processes", "2", log_file=log, stop_seconds=SECONDS
    ) as (process, address):
        yield RunningGateway(folder, address, process, log)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway of two processes, which tests leave as they found it."""
    with two_processes(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture
def ending_gateway(tmp_path: Path) -> Iterator[RunningGateway]:
    """A gateway of two processes, which its test ends."""
    with two_processes(tmp_path) as gateway:
        yield gateway


def workers(gateway: RunningGateway) -> set[int]:
    return workers_of(gateway.process.pid)


def fork_servers(gateway: RunningGateway) -> set[int]:
    return running_children(gateway.process.pid)


def fork_server(gateway: RunningGateway) -> int:
    """The only fork server, once the one that an earlier test had replaced is gone."""
    wait_until(lambda: len(fork_servers(gateway)) == 1)
    (server,) = fork_servers(gateway)
    return server


def is_stopped(pid: int) -> bool:
    return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)


def tcp_states(pid: int) -> list[str]:
    """The state of each TCP socket that a process has open."""
    return [connection.status for connection in psutil.Process(pid).net_connections("tcp")]


class Clients:
    """Clients that send one request after the other: on one connection each, or each on a new one."""

    def __init__(self, address: str, count: int = 4) -> None:
        self.failures: list[str] = []
        self.answered = 0
        self._address = address
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(number % 2 == 0,)) for number in range(count)
        ]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, keep_alive: bool) -> None:
        headers = {} if keep_alive else {"connection": "close"}
        with httpx.Client(base_url=self._address, headers=headers, timeout=SECONDS) as client:
            while not self._stop.wait(0.01):
                try:
                    if client.get("/readyz").status_code == 200:
                        self.answered += 1
                    else:
                        self.failures.append("not ready")
                except httpx.TransportError as error:
                    self.failures.append(repr(error))


def test_each_process_accepts_connections(gateway: RunningGateway) -> None:
    running = workers(gateway)
    assert len(running) == 2
    for alone in running:
        (other,) = running - {alone}
        clients = [httpx.Client(base_url=gateway.address) for _ in range(32)]
        os.kill(other, signal.SIGSTOP)
        try:
            wait_until(partial(is_stopped, other))
            assert [client.get("/readyz").status_code for client in clients] == [200] * 32
            assert tcp_states(alone).count("ESTABLISHED") >= 32
        finally:
            os.kill(other, signal.SIGCONT)
            for client in clients:
                client.close()


@pytest.mark.parametrize(
    "count",
    [
        8,
        *(
            pytest.param(
                each,
                marks=pytest.mark.night("test_processes_get_equal_parts_of_a_burst_of_connections"),
            )
            for each in (2, 64)
        ),
    ],
)
def test_processes_get_equal_parts_of_a_burst_of_connections(
    gateway: RunningGateway, count: int
) -> None:
    bursts = [established_by_burst(gateway, count) for _ in range(9)]
    # A busy machine can stop a process for so long that the other accepts what was left to it.
    equal = [burst for burst in bursts if max(burst) <= count // 2 + count // 8]
    assert len(equal) >= 5, bursts


def established_by_burst(gateway: RunningGateway, count: int) -> list[int]:
    """Connect so many clients at once, and return how many each process accepted."""
    address = httpx.URL(gateway.address)
    clients = [socket.create_connection((address.host, address.port)) for _ in range(count)]
    try:
        wait_until(lambda: sum(established(gateway)) == count)
        return established(gateway)
    finally:
        for client in clients:
            client.close()
        wait_until(lambda: sum(established(gateway)) == 0)


def established(gateway: RunningGateway) -> list[int]:
    """The number of accepted connections of each process."""
    return [tcp_states(pid).count("ESTABLISHED") for pid in workers(gateway)]


def test_sighup_replaces_all_processes_without_a_failed_request(gateway: RunningGateway) -> None:
    before = workers(gateway)
    with Clients(gateway.address) as clients:
        wait_until(lambda: clients.answered > 20)
        gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(workers(gateway)) == 2 and not workers(gateway) & before)
        answered = clients.answered
        wait_until(lambda: clients.answered > answered + 20)
    assert clients.failures == []


def test_processes_are_forked_and_replaced_ones_from_another_fork_server(
    gateway: RunningGateway,
) -> None:
    server = fork_server(gateway)
    # The first one has imported by itself what the others found in memory.
    own = sorted(psutil.Process(pid).memory_full_info().uss for pid in workers(gateway))
    assert own[0] < 60_000_000
    gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server not in fork_servers(gateway) and len(fork_servers(gateway)) == 1)
    assert len(workers(gateway)) == 2


def test_processes_are_replaced_without_a_failed_request_if_their_fork_server_dies(
    gateway: RunningGateway,
) -> None:
    server = fork_server(gateway)
    with Clients(gateway.address) as clients:
        wait_until(lambda: clients.answered > 20)
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: server not in fork_servers(gateway) and len(workers(gateway)) == 2)
        answered = clients.answered
        wait_until(lambda: clients.answered > answered + 20)
    assert clients.failures == []


def test_a_request_in_progress_completes_in_the_process_that_is_replaced(
    gateway: RunningGateway,
) -> None:
    before = workers(gateway)
    host, _, port = gateway.address.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), SECONDS) as client:
        client.sendall(
            b"POST /oauth/token HTTP/1.1\r\nhost: gateway\r\ncontent-length: 40\r\n"
            b"content-type: application/x-www-form-urlencoded\r\n\r\ngrant_type="
        )
        wait_until(lambda: any("ESTABLISHED" in tcp_states(pid) for pid in before))
        (holder,) = (pid for pid in before if "ESTABLISHED" in tcp_states(pid))
        gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "LISTEN" not in tcp_states(holder))
        client.sendall(b"client_credentials".ljust(29, b"&"))
        answer = client.recv(4096)
    assert answer.startswith(b"HTTP/1.1 40"), answer
    assert b"connection: close" in answer
    wait_until(lambda: len(workers(gateway)) == 2 and not workers(gateway) & before)


def test_processes_go_on_if_their_successors_cannot_start(gateway: RunningGateway) -> None:
    before = workers(gateway)
    configuration = gateway.folder / "gateway.yaml"
    valid = configuration.read_text()
    configuration.write_text("server: {prot: 1}\n")
    gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the gateway processes are not replaced" in gateway.log)
    configuration.write_text(valid)
    assert "gateway.yaml:1" in gateway.log
    assert workers(gateway) == before
    assert httpx.get(f"{gateway.address}/readyz").status_code == 200


def test_a_process_that_dies_is_replaced(gateway: RunningGateway) -> None:
    victim, survivor = sorted(workers(gateway))
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: f"the gateway process {victim} ended with exit code -9" in gateway.log)
    assert httpx.get(f"{gateway.address}/readyz").status_code == 200
    wait_until(lambda: len(workers(gateway)) == 2 and victim not in workers(gateway))
    assert survivor in workers(gateway)


def test_sigterm_ends_all_processes(ending_gateway: RunningGateway) -> None:
    running = workers(ending_gateway) | fork_servers(ending_gateway)
    assert (ending_gateway.folder / "sluicegate.address").read_text() == ending_gateway.address
    ending_gateway.process.terminate()
    assert ending_gateway.process.wait(SECONDS) == 0
    assert not any(map(is_running, running))
    assert not (ending_gateway.folder / "sluicegate.address").exists()


def test_a_request_in_progress_completes_before_all_processes_end(
    ending_gateway: RunningGateway,
) -> None:
    url = httpx.URL(ending_gateway.address)
    with socket.create_connection((url.host, url.port or 80), SECONDS) as client:
        client.sendall(
            b"POST /oauth/token HTTP/1.1\r\nhost: gateway\r\ncontent-length: 29\r\n"
            b"content-type: application/x-www-form-urlencoded\r\n\r\n"
        )
        wait_until(lambda: sum(established(ending_gateway)) == 1)
        ending_gateway.process.terminate()
        wait_until(lambda: ending_gateway.log.count("Shutting down") == 2)
        client.sendall(b"grant_type=client_credentials")
        assert client.recv(4096).startswith(b"HTTP/1.1 40")
    assert ending_gateway.process.wait(SECONDS) == 0
    assert "unexpected" not in ending_gateway.log


def test_an_upgraded_process_serves_for_a_supervisor_of_version_0_2(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").touch()
    with (
        bind("127.0.0.1", 0) as listener,
        ProcessCounts.with_places(1) as counts,
        ExitStack() as stack,
    ):
        control, theirs = map(stack.enter_context, socket.socketpair())
        descriptors = [listener.fileno(), theirs.fileno(), counts.descriptor]
        option = ",".join(map(str, [*descriptors, counts.take()]))
        process = subprocess.Popen(
            [script(), "serve", "--worker", option], cwd=tmp_path, pass_fds=descriptors
        )
        theirs.close()
        address = control.makefile().readline().strip()
        # The worker listens a moment after it is ready.
        listener.listen()
        assert httpx.get(f"{address}/readyz").status_code == 200
        control.close()
        assert process.wait(SECONDS) == 0


def test_processes_do_not_outlive_their_supervisor(ending_gateway: RunningGateway) -> None:
    running = workers(ending_gateway) | fork_servers(ending_gateway)
    ending_gateway.process.kill()
    wait_until(lambda: not any(map(is_running, running)))


WAITING = """
import os, time
from contextlib import asynccontextmanager
from sluicegate.api import hookimpl

@hookimpl
def sluicegate_lifespan(services):
    @asynccontextmanager
    async def lifespan():
        number = len([name for name in os.listdir() if name.startswith("worker-")])
        open(f"worker-{number}", "x").close()
        while number and not os.path.exists("go"):
            time.sleep(0.02)
        yield
    return lifespan()
"""


def test_no_process_accepts_connections_before_all_are_ready(tmp_path: Path, site: Site) -> None:
    site.install("waiting", WAITING)
    (tmp_path / "gateway.yaml").write_text("plugins: [waiting]")
    port = free_port()
    arguments = ("serve", "--port", str(port), "--processes", "2")
    path = {"PYTHONPATH": str(site.folder)}
    with (tmp_path / "gateway.log").open("wb") as log:
        process = fork(tmp_path, *arguments, stderr=log, env=path)
    try:
        wait_until((tmp_path / "worker-1").exists)  # it starts when the first one is ready
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), SECONDS)
        (tmp_path / "go").touch()
        wait_until(lambda: b"serving" in (tmp_path / "gateway.log").read_bytes())
        assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    finally:
        process.terminate()
        process.wait(SECONDS)


THREADED = """
import threading
from time import sleep

threading.Thread(target=sleep, args=(1_000_000,), daemon=True).start()
"""


def test_processes_start_by_themselves_if_a_plugin_starts_a_thread_when_it_is_imported(
    tmp_path: Path, site: Site
) -> None:
    site.install("threaded", THREADED)
    (tmp_path / "gateway.yaml").write_text("plugins: [threaded]")
    log = tmp_path / "gateway.log"
    arguments = ("serve", "--port", "0", "--processes", "2")
    path = {"PYTHONPATH": str(site.folder)}
    with serving(tmp_path, *arguments, log_file=log, env=path) as (process, address):
        commands = [psutil.Process(pid).cmdline() for pid in workers_of(process.pid)]
        assert sorted("--worker" in command for command in commands) == [False, True]
        assert httpx.get(f"{address}/readyz").status_code == 200


@pytest.mark.parametrize(
    ("count", "configuration", "code", "message"),
    [
        ("2", "database: sqlite:////nowhere/x.db", 1, "error: the directory of the database"),
        ("0", "", 2, "expected a number from 1 to 256, or auto; got '0'"),
        ("many", "", 2, "expected a number from 1 to 256, or auto; got 'many'"),
    ],
)
def test_what_prevents_the_start_is_reported_once(
    tmp_path: Path, count: str, configuration: str, code: int, message: str
) -> None:
    (tmp_path / "gateway.yaml").write_text(configuration)
    done = completed(tmp_path, "serve", "--processes", count, seconds=SECONDS)
    assert done.returncode == code
    assert done.stderr.count(message) == 1, done.stderr
