"""Runs tests against a mutation, in a copy of the repository that is deleted afterwards."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from mutants.mutations import Mutation
from mutants.suites import git

Outcome = Literal["noticed", "survived", "untested", "unclear"]
# A test that takes longer does not end: the mutation is a loop without an end, or a lost wake-up.
_TEST_SECONDS = 300
_END_SECONDS = 20
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?: \S+)*?)(?: - .*)?$", re.MULTILINE)
_NO_TESTS = 5  # pytest's exit code


@dataclass
class Tree:
    """A copy of the repository's files, from which Python imports the packages."""

    root: Path
    _tests: subprocess.Popen[str] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    @classmethod
    @contextmanager
    def copied(cls, repository: Path) -> Iterator[Tree]:
        """A copy with what Git knows or would add, and changes that are not committed."""
        with TemporaryDirectory(prefix="sluicegate-mutants-") as folder:
            kinds = ("--cached", "--others", "--exclude-standard")
            listed = git(repository, "ls-files", "-z", *kinds).split("\0")
            root = Path(folder) / "repository"
            for name in filter(None, listed):
                if (repository / name).is_file():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(repository / name, root / name)
            shared = repository.parent / "shared"
            if shared.is_dir():
                (Path(folder) / "shared").symlink_to(shared.resolve())
            tree = cls(root)
            try:
                yield tree
            finally:
                tree.close()

    def trial(self, mutation: Mutation, tests: Sequence[str]) -> Outcome:
        """What tests say of a mutation.

        A mutation is noticed if a test fails, or does not end, that passes without the mutation.

        Returns:
            `untested` where there are no tests, `unclear` where the failed test fails without it too.
        """
        if not tests:
            return "untested"
        module = self.root / mutation.path
        original = module.read_text()
        module.write_text(mutation.mutated)
        try:
            code, output = self.run(tests)
        finally:
            module.write_text(original)
        if code in (0, _NO_TESTS):
            return "survived" if code == 0 else "untested"
        failed = _FAILED.findall(output)
        if failed and self.run(failed[:1])[0] != 0:
            return "unclear"
        return "noticed"

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests until one fails; pytest's exit code and output."""
        if self._closed:
            raise RuntimeError("the trials were stopped")
        packages = ["gateway", "tests", *_sources(self.root)]
        self._tests = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
                *("-o", f"faulthandler_timeout={_TEST_SECONDS}"),
                *("-o", "faulthandler_exit_on_timeout=true", *tests),
            ],
            cwd=self.root,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(str(self.root / each) for each in packages),
                "PYTHONDONTWRITEBYTECODE": "1",  # a module of the same size and second looks unchanged
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = self._tests.communicate()
            return self._tests.returncode, output
        finally:
            self._stop()

    def close(self) -> None:
        """End the tests that run; no others start."""
        self._closed = True
        if self._tests is not None and self._tests.poll() is None:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self._tests.pid, signal.SIGINT)  # fixtures end servers in other sessions
                self._tests.wait(_END_SECONDS)
        self._stop()

    def _stop(self) -> None:
        """End the tests, and the servers that they have left behind."""
        if self._tests is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._tests.pid, signal.SIGKILL)


def _sources(root: Path) -> list[str]:
    found = [*root.glob("plugins/*/src"), *root.glob("catalog_adapters/*/src")]
    return [path.relative_to(root).as_posix() for path in sorted(found)]
