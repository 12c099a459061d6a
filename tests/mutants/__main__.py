"""Plant a sample of mistakes in the modules that a change touched, and print how many tests notice.

Run it as `tox -e mutants`. It works on copies of the repository, and so never changes a file of yours,
even if you stop it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from mutants.mutations import Mutation, sample
from mutants.suites import changed_modules, modules, suite
from mutants.trials import Outcome, Tree

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Parse the command line, run the trials, and print the survivors and the score."""
    options = _parser().parse_args(arguments)
    paths = modules(root, options.modules) if options.modules else changed_modules(root, options.since)
    if not paths:
        print("no module of the gateway or of a plugin was changed or named")
        return 1 if options.modules else 0
    drawn = sample(root, paths, options.sample, options.seed)
    print(f"{len(drawn)} mutations in {len(paths)} modules, seed {options.seed}", flush=True)
    counted = Counter(_trials(root, drawn, options.jobs))
    tried = counted["noticed"] + counted["survived"]
    for outcome in ("untested", "unclear"):
        if counted[outcome]:
            print(f"not counted: {counted[outcome]} {outcome}")
    print(f"{counted['noticed']} of {tried} mutations noticed ({_percent(counted['noticed'], tried)})")
    return 0


def end_by_signals() -> None:
    """Let signals raise an exception, so that copies are deleted; a shell may have SIGINT ignored."""

    def end(signum: int, _: object) -> None:
        raise SystemExit(128 + signum)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)


def _trials(root: Path, drawn: Sequence[Mutation], jobs: int) -> list[Outcome]:
    """The outcomes of mutations, each of which has a copy of the repository while it runs."""
    with ExitStack() as stack:
        trees = [stack.enter_context(Tree.copied(root)) for _ in range(jobs)]
        free: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            free.put(tree)

        def trial(mutation: Mutation) -> Outcome:
            tree = free.get()
            try:
                outcome = tree.trial(mutation, suite(tree.root, mutation.path))
            finally:
                free.put(tree)
            place = f"{mutation.path.as_posix()}:{mutation.line}"
            shown = "" if outcome == "noticed" else f"\n{mutation.diff}"
            print(f"{outcome}: {place} {mutation.operator}{shown}", flush=True)
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            try:
                return list(pool.map(trial, drawn))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for tree in trees:
                    tree.close()
                raise


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "no score"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", help="files or folders; by default what changed since the merge base"
    )
    parser.add_argument(
        "--since", default="main", help="branch or commit to compare with (%(default)s)"
    )
    parser.add_argument("--sample", type=int, default=30, help="how many mutations (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="draws another sample (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="trials at the same time (%(default)s)")
    return parser


if __name__ == "__main__":
    end_by_signals()
    sys.exit(main())
