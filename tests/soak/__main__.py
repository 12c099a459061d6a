"""A soak: clients of all protocols at work, while catalogs and stores fail and tables change.

Run it as `tox -e nightly`, or as `python -m soak` with `tests` on the path. Each answer is judged: 503
is right only if a server that the answer depends on failed at that time, every row is compared with
those that were written, and the memory must stay the same.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from soak.report import markdown, summary, write
from soak.run import Plan, soak

from sluicegate._util.units import parse_duration
from sluicegate_testing.secrets import begin_register

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print a line for each violation, write the report; 1 if there was a violation."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s")  # each violation, when it is found
    # However the run is stopped, its servers end with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plan = Plan(
        options.duration,
        options.clients,
        options.seed,
        options.think,
        options.database,
        options.processes,
        reload_every=options.reload_every,
    )
    commit = _commit()  # before anybody changes something during the run
    with ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="sluicegate-soak-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        begin_register(folder / "secrets")
        result = asyncio.run(soak(folder / "run", plan))
    report = markdown(result, machine=_machine(), commit=commit)
    if options.report is None:
        print(report)
    else:
        write(report, options.report)
    print(summary(result), file=sys.stderr)
    return 1 if result.record.violated else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--duration", type=parse_duration, default=600, help="such as 10m or 1h")
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--seed", type=int, default=1, help="of outages and clients (default 1)")
    parser.add_argument(
        "--think", type=float, default=5, help="average seconds between operations (default 5)"
    )
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument(
        "--reload-every", type=parse_duration, default=60, help="between two reloads (default 60s)"
    )
    parser.add_argument("--processes", type=int, default=1, help="of the gateway (default 1)")
    parser.add_argument(
        "--folder", type=Path, help="empty folder to keep, with the log; a temporary one if absent"
    )
    parser.add_argument(
        "--report",
        type=Path,
        help="file to write, or to end with the report if it has the mark of docs/operators/soak.md; "
        "standard output if absent",
    )
    return parser


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
