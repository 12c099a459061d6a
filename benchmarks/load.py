"""Requests a second of many clients, with one and with several processes; peer: a bare application.

Every client sends the next request of a mix as soon as it has its response. The requests are those of
many recipients, each with its own token, and so its own cached answers. The clients, and a stand-in
for the store, run on the same cores as the servers. They do as little as possible, and what they use is
reported. It limits `scaling`: where the machine has as many cores as there are processes, one process
has a core for itself, and several have less. `core_scaling` compares several with one process that
shares its core with the clients and the store. As a second peer, processes that share nothing show how
far this machine scales at all.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from support.gateways.gateway import running_gateway
from support.servers.scraped import metrics_address, scrape
from support.servers.serving import serving

from benchmarks.peers.bare_route import PATH, bare_server
from benchmarks.support.cores import on_one_core
from benchmarks.support.gateway import as_recipients
from benchmarks.support.http import encode
from benchmarks.support.processes import rate
from benchmarks.support.report import Figures, Report
from benchmarks.support.request_mix import (
    MeasuredServer,
    MixedRequest,
    measured_gateway,
    request_mix,
)
from benchmarks.support.scale import SHA256, plain_python, sha256_per_cpu_second
from benchmarks.support.shared_table import SharedTable, shared_table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--recipients", type=int, default=64, help="of the requests (default 64)")
    parser.add_argument(
        "--audit", choices=["required", "off"], default="required", help="(default required)"
    )
    parser.add_argument("--processes", type=int, default=2, help="of the second gateway (default 2)")
    parser.add_argument("--files", type=int, default=1000, help="of the table (default 1000)")
    parser.add_argument("--requests", type=int, default=6000, help="requests of a round (default 6000)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits them alike."""
    with ExitStack() as stack:
        table = stack.enter_context(shared_table(options.files, replayed=True, audit=options.audit))
        gateway = stack.enter_context(running_gateway(table.folder, processes=options.processes))
        bare = [stack.enter_context(bare_server(number)) for number in (1, options.processes)]
        mix = [
            request
            for each in as_recipients(table.folder, table.gateway, options.recipients)
            for request in request_mix(each, options.files)
        ]
        one = measured_gateway(table.gateway.pid, table.gateway.address, mix)
        several = measured_gateway(gateway.process.pid, gateway.address, mix)
        peers = [
            MeasuredServer(each.pids, each.address, [encode("GET", each.address + PATH)])
            for each in bare
        ]
        on_a_core = [replace(target, rates=[], cpu=[], client_cpu=[]) for target in (one, peers[0])]
        alone = [_Alone(1), _Alone(options.processes)]
        for _ in range(options.rounds + 1):
            for target in (one, several, *peers):
                target.measure(options.clients, options.requests)
            with on_one_core():
                for target in on_a_core:
                    target.measure(options.clients, options.requests)
            for each in alone:
                each.measure()
        from_memory = _answers_from_memory(table, mix, options)
    figures = {**_figures(one, several, on_a_core[0]), "answers_from_memory": from_memory}
    return Report(
        {**figures, SHA256: sha256_per_cpu_second()},
        {
            "bare_starlette_route": _figures(peers[0], peers[1], on_a_core[1]),
            "plain_python": {"scaling": _ratio(alone[1].rates, alone[0].rates)},
        },
    )


def _answers_from_memory(
    table: SharedTable, mix: Sequence[MixedRequest], options: argparse.Namespace
) -> float:
    """The fraction of all responses that are cached answers: of another gateway, which has metrics."""
    log = table.folder / "measured.log"
    arguments = ("serve", "--port", "0", "--prometheus-port", "0")
    with serving(table.folder, *arguments, log_file=log) as (process, address):
        target = measured_gateway(process.pid, address, mix)
        metrics = metrics_address(log.read_text())
        before = _reused(metrics)
        target.measure(options.clients, options.requests)
        return float((_reused(metrics) - before) / options.requests)


def _reused(metrics: str) -> float:
    return scrape(metrics).value("sluicegate_answers_total", outcome="reused")


def _figures(one: MeasuredServer, several: MeasuredServer, on_a_core: MeasuredServer) -> Figures:
    return {
        **one.figures(),
        **several.figures("_of_several"),
        "scaling": _ratio(several.rates, one.rates),
        "cpu_ratio": _ratio(several.cpu, one.cpu),
        **on_a_core.figures("_on_one_core"),
        "core_scaling": _ratio(several.rates, on_a_core.rates),
    }


def _ratio(more: Sequence[float], less: Sequence[float]) -> float:
    """The median of each round's ratio: a busy moment of the machine lasts longer than a round."""
    return statistics.median(above / below for above, below in zip(more[1:], less[1:], strict=True))


class _Alone:
    """So many processes that share nothing and serve nobody."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self.rates: list[float] = []

    def measure(self) -> None:
        self.rates.append(rate(plain_python, "", self._processes).per_second)
