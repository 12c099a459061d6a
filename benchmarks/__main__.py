"""`python -m benchmarks NAME [options] [--json]`: run one benchmark and print its figures.

Each other module of this folder is a benchmark of its own name, with `-` for `_`. It has
`run(options) -> Report`, and `add_options(parser)` where it takes options of its own.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

import benchmarks
from benchmarks.support.report import Report, as_json, as_table

TESTS = Path(__file__).parents[1] / "tests"  # what runs servers for tests runs them for benchmarks


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark that the arguments name, or each by its defaults for `all`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("name", choices=[*names(), "all"], help="what to measure")
    chosen = parser.parse_args(arguments[:1]).name
    sys.path.append(str(TESTS))
    for name in names() if chosen == "all" else [chosen]:
        _run(name, arguments[1:])


def _run(name: str, arguments: Sequence[str]) -> None:
    benchmark = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=benchmark.__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    if hasattr(benchmark, "add_options"):
        benchmark.add_options(parser)
    options = parser.parse_args(arguments)
    report: Report = benchmark.run(options)
    print((as_json if options.json else as_table)(name, report), flush=True)


def names() -> list[str]:
    """Names of all benchmarks, sorted."""
    modules = pkgutil.iter_modules(benchmarks.__path__)
    found = (each.name for each in modules if not each.ispkg and each.name != "__main__")
    return sorted(name.replace("_", "-") for name in found)


if __name__ == "__main__":
    main(sys.argv[1:])
