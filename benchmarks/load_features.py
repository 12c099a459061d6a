"""Requests of many clients to a gateway with all features; peers: without cached answers, without any.

The features are those that are off by default (limits, policies, the audit log, traces, metrics, the
Admin API), compression, and cached answers. Cached answers save work that the others add, so that a
gateway with all features except these shows what the others cost. The mix of requests is that of
`load`, sent by as many clients.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from support.gateways.features import PERMIT_ALL, collector, everything, nothing

from benchmarks.support.gateway import ServedGateway, gateway
from benchmarks.support.report import Figures, Report
from benchmarks.support.request_mix import MeasuredServer, measured_gateway, request_mix
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import SharedTable, shared_table
from sluicegate_testing.servers.ports import free_port


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--files", type=int, default=1000, help="of the table (default 1000)")
    parser.add_argument("--requests", type=int, default=1500, help="requests of a round (default 1500)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each (default 3)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits them alike."""
    with ExitStack() as stack:
        table = stack.enter_context(shared_table(options.files, replayed=True, **nothing()))
        traces = stack.enter_context(collector())
        features = [_everything(table.folder, traces), _everything(table.folder, traces)]
        features[1]["cache"] = {"answers": 0}
        on, uncached = (
            stack.enter_context(_gateway(table, f"gateway-{place}", each))
            for place, each in enumerate(features)
        )
        targets = [_target(each, options.files) for each in (on, uncached, table.gateway)]
        for _ in range(options.rounds + 1):
            for each in targets:
                each.measure(options.clients, options.requests)
    all_on, without_cache, off = targets
    return Report(
        {**_figures(all_on, off), SHA256: sha256_per_cpu_second()},
        {"without_cached_answers": _figures(without_cache, off), "all_off": _figures(off, off)},
    )


def _everything(folder: Path, traces: str) -> dict[str, Any]:
    policies = folder / "policies.cedar"
    policies.write_text(PERMIT_ALL)
    return everything(str(policies), traces, free_port())


def _gateway(
    table: SharedTable, name: str, features: Mapping[str, Any]
) -> AbstractContextManager[ServedGateway]:
    """Another gateway in front of the same table."""
    settings = json.loads((table.folder / "gateway.yaml").read_text())
    shares = json.loads((table.folder / "shares.yaml").read_text())["shares"]
    return gateway(table.folder.parent / name, shares, settings["storage"][0], **features)


def _target(served: ServedGateway, files: int) -> MeasuredServer:
    return measured_gateway(served.pid, served.address, request_mix(served, files))


def _figures(target: MeasuredServer, off: MeasuredServer) -> Figures:
    """The figures, with the medians of each round's ratios to the gateway without features."""
    return {
        **target.figures(),
        "cpu_ratio": _ratio(target.cpu, off.cpu),
        "requests_ratio": _ratio(target.rates, off.rates),
    }


def _ratio(some: list[float], others: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(some[1:], others[1:], strict=True))
