"""From the start of the process until it is ready, which includes what a first query needs; memory."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from support.gateways.gateway import running_gateway
from support.servers.serving import script

from benchmarks.peers.bare_route import PATH, bare_server
from benchmarks.peers.reference import START
from benchmarks.support.bytecode import compiled_modules, without_compiled_modules
from benchmarks.support.gateway import as_recipient, configure
from benchmarks.support.http import Connection, encode
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import cpu_seconds, process_tree, pss_mb, rss_mb
from sluicegate_testing.servers.ports import free_port

_SETTLE_SECONDS = 3.0
_PAUSE_SECONDS = 0.005
_Measured = tuple[float, float, float]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")
    parser.add_argument(
        "--processes", type=int, default=8, help="of the gateway with several (default 8)"
    )


def run(options: argparse.Namespace) -> Report:
    """Start a gateway with the plugins `paths` and `s3` again and again; medians count.

    Its modules are compiled, except in the last start. NumPy, which only tests need here, is hidden as
    where nothing but the gateway is installed, except in one start. A plain server is the peer.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name, compiled_modules() as env:
        folder = Path(name) / "gateway"
        storage = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
        configure(folder, {"sales": {"schemas": {}}}, storage)
        installed = {**env, **_hidden_numpy(Path(name) / "hidden")}
        with running_gateway(folder) as running:
            token = as_recipient(running).token
        _bare()
        ours, bare = zip(
            *((_once(folder, token, installed), _bare()) for _ in range(options.rounds)), strict=True
        )
        several = [_several(folder, installed, options.processes) for _ in range(options.rounds)]
        clicks = [_import_of_click(folder, installed) for _ in range(options.rounds)]
        commands = [_commands(folder, installed) for _ in range(options.rounds)]
        longest = [_longest_livez(folder, installed) for _ in range(options.rounds)]
        _, _, with_numpy = _once(folder, token, env)
        empty = Path(name) / "bytecode"
        _, uncompiled, _ = _once(folder, token, without_compiled_modules(empty))
    figures = {
        **_medians(ours),
        **_median_figures(several),
        **_median_figures(commands),
        "rss_with_numpy_mb": with_numpy,
        "uncompiled_cpu_seconds": uncompiled,
        "longest_livez_seconds": statistics.median(longest),
        SHA256: sha256_per_cpu_second(),
    }
    peers = {"bare_starlette_server": _medians(bare), **START}
    return Report(figures, {**peers, "import_of_click": _median_figures(clicks)})


def _medians(measured: tuple[_Measured, ...]) -> Figures:
    names = ("ready_seconds", "ready_cpu_seconds", "rss_mb")
    columns = zip(*measured, strict=True)
    return {name: statistics.median(column) for name, column in zip(names, columns, strict=True)}


def _once(folder: Path, token: str, env: Mapping[str, str]) -> _Measured:
    """Seconds and CPU seconds until ready and the first answer, and memory after all start-up work."""
    began = time.perf_counter()
    with running_gateway(folder, env=env) as running, Connection(running.address) as connection:
        connection.ask(
            encode("GET", f"{running.endpoint}/shares", {"authorization": f"Bearer {token}"})
        )
        ready = time.perf_counter() - began
        used = cpu_seconds(running.process.pid)
        time.sleep(_SETTLE_SECONDS)
        return ready, used, rss_mb(running.process.pid)


def _several(folder: Path, env: Mapping[str, str], processes: int) -> Figures:
    """What all processes of a gateway need together, and what another one needs: the median of them."""
    began = time.perf_counter()
    with running_gateway(folder, env=env, processes=processes) as running:
        ready = time.perf_counter() - began
        pids = process_tree(running.process.pid)
        used = [cpu_seconds(pid) for pid in pids]
        time.sleep(_SETTLE_SECONDS)
        memory = [pss_mb(pid) for pid in pids]
    return {
        "several_ready_seconds": ready,
        "cpu_seconds": sum(used),
        "pss_mb": sum(memory),
        "further_process_cpu_seconds": statistics.median(used),
        "further_process_pss_mb": statistics.median(memory),
    }


def _commands(folder: Path, env: Mapping[str, str]) -> Figures:
    """CPU seconds of commands that show no results."""
    completing = {
        "_SLUICEGATE_COMPLETE": "bash_complete",
        "COMP_WORDS": "sluicegate s",
        "COMP_CWORD": "1",
    }
    return {
        "version_cpu_seconds": _command(folder, env, script(), "--version"),
        "help_cpu_seconds": _command(folder, env, script(), "--help"),
        "completion_cpu_seconds": _command(folder, {**env, **completing}, script()),
    }


def _import_of_click(folder: Path, env: Mapping[str, str]) -> Figures:
    used = _command(folder, env, sys.executable, "-c", "import click")
    return dict.fromkeys(("version_cpu_seconds", "help_cpu_seconds", "completion_cpu_seconds"), used)


def _command(folder: Path, env: Mapping[str, str], *command: str) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env={**os.environ, **env}, capture_output=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _median_figures(measured: Sequence[Figures]) -> Figures:
    return {name: statistics.median(each[name] for each in measured) for name in measured[0]}


def _hidden_numpy(folder: Path) -> Mapping[str, str]:
    """Variables with which no import finds NumPy, as where nothing but the gateway is installed."""
    folder.mkdir()
    (folder / "numpy.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    return {"PYTHONPATH": str(folder)}


def _bare() -> _Measured:
    """The same of a server without any function."""
    began = time.perf_counter()
    with bare_server() as bare, Connection(bare.address) as connection:
        connection.ask(encode("GET", bare.address + PATH))
        ready = time.perf_counter() - began
        return ready, cpu_seconds(bare.pids[0]), rss_mb(bare.pids[0])


def _longest_livez(folder: Path, env: Mapping[str, str]) -> float:
    """Seconds of the slowest liveness check, from the first one that is answered until ready."""
    port, seconds, ended = free_port(), [0.0], threading.Event()
    address = f"http://127.0.0.1:{port}"
    checking = threading.Thread(target=_check, args=(address, seconds, ended))
    checking.start()
    try:
        with running_gateway(folder, port=port, env=env):
            ended.set()
            checking.join()
    finally:
        ended.set()
    return max(seconds)


def _check(address: str, seconds: list[float], ended: threading.Event) -> None:
    request = encode("GET", f"{address}/livez")
    while not ended.wait(_PAUSE_SECONDS):
        try:
            with Connection(address) as connection:
                while not ended.wait(_PAUSE_SECONDS):
                    seconds.append(connection.ask(request).total_seconds)
        except (OSError, RuntimeError):
            continue  # the port is not open yet, or no longer
