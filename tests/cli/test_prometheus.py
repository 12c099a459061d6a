"""Prometheus reads the metrics of all processes on one separate port."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from support.gateways.gateway import RunningGateway, completed_here
from support.process.forked import completed
from support.process.workers import workers_of
from support.servers.scraped import Scraped, metrics_address, scrape
from support.servers.serving import serving

SECONDS = 60
REQUESTS = "http_server_request_duration_seconds_count"
LIST = "/delta-sharing/shares"


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway of two processes."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "gateway.yaml").write_text("telemetry: {prometheus: {port: 0}}\n")
    log = folder / "gateway.log"
    arguments = ("serve", "--port", "0", "--processes", "2")
    with serving(folder, *arguments, log_file=log, stop_seconds=SECONDS) as (process, address):
        yield RunningGateway(folder, address, process, log)


def metrics(gateway: RunningGateway) -> Scraped:
    return scrape(metrics_address(gateway.log), openmetrics=True)


def requested(gateway: RunningGateway) -> float:
    return metrics(gateway).value(REQUESTS, http_route="/delta-sharing/shares")


def send(gateway: RunningGateway, count: int) -> None:
    for _ in range(count):
        assert httpx.get(f"{gateway.address}{LIST}").status_code == 401


def workers(gateway: RunningGateway) -> set[int]:
    return workers_of(gateway.process.pid)


def test_requests_of_all_processes_are_counted_and_not_on_the_public_port(
    gateway: RunningGateway,
) -> None:
    before = requested(gateway)
    send(gateway, 20)
    assert requested(gateway) - before == 20
    memory = metrics(gateway).families["process_memory_usage_bytes"].samples
    assert len({each.labels["process"] for each in memory}) == 3
    assert httpx.get(f"{gateway.address}/metrics").status_code == 404


def test_no_count_is_lost_when_processes_are_replaced(gateway: RunningGateway) -> None:
    send(gateway, 20)
    before, old = requested(gateway), workers(gateway)
    send(gateway, 7)  # after the last scrape
    gateway.process.send_signal(signal.SIGHUP)
    seen = [before]
    while workers(gateway) & old or len(workers(gateway)) != 2:
        seen.append(requested(gateway))
    seen.append(requested(gateway))
    assert seen == sorted(seen)
    assert seen[-1] - before == 7
    wait_until(lambda: metrics(gateway).value("sluicegate_config_reloads_total", outcome="applied") > 0)


def test_a_killed_process_is_counted_and_sums_do_not_decrease(gateway: RunningGateway) -> None:
    send(gateway, 5)
    before = requested(gateway)
    os.kill(workers(gateway).pop(), signal.SIGKILL)
    wait_until(lambda: metrics(gateway).value("sluicegate_processes_failed_total") == 1)
    assert requested(gateway) >= before
    wait_until(lambda: len(workers(gateway)) == 2)


def test_a_process_that_does_not_answer_does_not_delay_the_others_forever(
    gateway: RunningGateway,
) -> None:
    before = requested(gateway)
    stopped = workers(gateway).pop()
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert requested(gateway) >= before
    finally:
        os.kill(stopped, signal.SIGCONT)


@pytest.mark.parametrize("command", [("delegation", "serve"), ("delegation", "worker")])
def test_the_delegation_service_and_its_worker_have_the_option(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = completed_here(tmp_path, *command, "--help")
    assert "--prometheus-port" in done.stdout


def test_a_port_that_is_in_use_ends_the_start_with_the_setting(
    gateway: RunningGateway, tmp_path: Path
) -> None:
    port = httpx.URL(metrics_address(gateway.log)).port
    (tmp_path / "gateway.yaml").write_text("")
    options = ("--port", "0", "--prometheus-port", str(port))
    done = completed(tmp_path, "serve", *options, seconds=SECONDS)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "telemetry.prometheus" in done.stderr
