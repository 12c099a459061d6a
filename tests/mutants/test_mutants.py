"""The tool that plants mistakes: what it plants, which tests it runs, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import psutil
import pytest
from mutants.__main__ import main
from mutants.mutations import NEVER_RAISED, planted, sample, sites
from mutants.suites import changed_modules, git, modules, suite

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path("gateway/sluicegate/ages.py")
SOURCE = '''
"""Ages."""
from __future__ import annotations

import logging

log = logging.getLogger()
LIMIT: int | None = 18

def is_adult(age: int, seen: list[int] | None) -> bool | None:
    """Whether; `and` in a text is no operator."""
    log.info("asked")
    seen.append(age)
    return age >= LIMIT
'''
TESTS = """
from sluicegate.ages import is_adult

def test_is_adult():
    seen = []
    assert is_adult(18, seen) and not is_adult(17, seen)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one module, whose tests do not look at what it has seen."""
    root = tmp_path / "repository"
    files = {
        MODULE: SOURCE,
        Path("gateway/sluicegate/__init__.py"): "",
        Path("tests/ages/test_ages.py"): TESTS,
        Path("tests/other/test_other.py"): "def test_other():\n    raise AssertionError\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root, "Begin")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", ".")
    who = ("-c", "user.name=tests", "-c", "user.email=tests@example.com")
    git(root, *who, "commit", "--quiet", "-m", message)


def diffs(source: str) -> set[str]:
    found = (planted(site, source) for site in sites(MODULE, source))
    return {mutation.diff for mutation in found if mutation is not None}


def test_mutations_change_what_runs_and_neither_annotations_nor_logs() -> None:
    assert diffs(SOURCE) == {
        "-LIMIT: int | None = 18\n+LIMIT: int | None = 19",
        "-LIMIT: int | None = 18\n+LIMIT: int | None = 17",
        "-    seen.append(age)\n+    pass",
        "-    return age >= LIMIT\n+    return age > LIMIT",
    }


@pytest.mark.parametrize(
    ("caught", "mutated"),
    [
        ("OSError", ["Other"]),
        ("asyncio.TimeoutError", ["Other"]),
        ("http.client.HTTPException as error", ["Other as error"]),
        ("(OSError)", ["(Other)"]),
        ("(socket.gaierror)", ["(Other)"]),
        ("(OSError, ValueError)", ["(Other, ValueError)", "(OSError, Other)"]),
        (
            "(http.client.HTTPException, OSError, socket.gaierror) as error",
            [
                "(Other, OSError, socket.gaierror) as error",
                "(http.client.HTTPException, Other, socket.gaierror) as error",
                "(http.client.HTTPException, OSError, Other) as error",
            ],
        ),
        ("()", []),
    ],
)
def test_each_caught_exception_is_replaced(caught: str, mutated: list[str]) -> None:
    source = f"try:\n    x = 1\nexcept {caught}:\n    x = 2\n"
    found = (planted(site, source) for site in sites(MODULE, source) if "Exception" in site.operator)
    lines = [each.mutated.splitlines()[2] for each in found if each is not None]
    assert lines == [f"except {each.replace('Other', NEVER_RAISED)}:" for each in mutated]


def test_a_mutation_names_its_line() -> None:
    [call] = [site for site in sites(MODULE, SOURCE) if site.operator == "RemoveCall"]
    mutation = planted(call, SOURCE)
    assert mutation is not None
    assert SOURCE.splitlines()[mutation.line - 1] == "    seen.append(age)"


def test_a_seed_draws_the_same_sample_from_the_same_texts(repository: Path) -> None:
    drawn = [sample(repository, [MODULE], 3, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(each) for each in drawn] == [3, 3, 3]
    assert len({mutation.mutated for mutation in drawn[0]}) == 3


def test_the_score_counts_what_tests_notice(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (repository / MODULE).read_text()
    assert main(["--sample", "99", MODULE.as_posix()], repository) == 0
    printed = capsys.readouterr().out
    line = before.splitlines().index("    seen.append(age)") + 1
    survivor = f"survived: {MODULE}:{line} RemoveCall\n-    seen.append(age)\n+    pass\n"
    assert survivor in printed
    assert printed.endswith("3 of 4 mutations noticed (75 %)\n")
    assert (repository / MODULE).read_text() == before


INTERRUPTED = """
import sys
from pathlib import Path
from mutants.__main__ import end_by_signals, main

end_by_signals()
main(["--sample", "4", "gateway"], Path(sys.argv[1]))
"""
ENDLESS = """
import os, time
from pathlib import Path

def test_it():
    Path(os.environ["STARTED"]).write_text(str(os.getpid()))
    while True:
        time.sleep(1)
"""


def test_a_run_that_is_stopped_ends_its_tests_and_deletes_its_copies(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "tests/ages/test_ages.py").write_text(ENDLESS)
    copies, started = tmp_path / "copies", tmp_path / "started"
    copies.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, repository],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests"),
            "STARTED": str(started),
            "TMPDIR": str(copies),
        },
        stdout=subprocess.DEVNULL,
    )
    while not (started.exists() and started.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert list(copies.iterdir()) == []
    assert not psutil.pid_exists(int(started.read_text()))


def test_what_fails_without_the_mutation_does_not_notice_it(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "tests/ages/test_ages.py").write_text("def test_it():\n    raise AssertionError\n")
    main(["--sample", "1", "--jobs", "1", MODULE.as_posix()], repository)
    assert capsys.readouterr().out.endswith(
        "not counted: 1 unclear\n0 of 0 mutations noticed (no score)\n"
    )


def test_a_module_without_tests_is_not_counted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "tests/ages/test_ages.py").unlink()
    main(["--sample", "1", MODULE.as_posix()], repository)
    assert "not counted: 1 untested" in capsys.readouterr().out


def test_changed_modules_are_those_since_the_merge_base(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "work")
    assert changed_modules(repository, "main") == []
    new = repository / "plugins/s3/src/sluicegate_s3/new.py"
    new.parent.mkdir(parents=True)
    for path in (repository / MODULE, new, repository / "tests/ages/test_new.py"):
        path.write_text("A = 1\n")
    assert changed_modules(repository, "main") == [MODULE, new.relative_to(repository)]
    commit(repository, "Go on")
    assert changed_modules(repository, "main") == [MODULE, new.relative_to(repository)]


def test_every_module_has_tests() -> None:
    """`suites._TESTS` has those that neither import a module nor are in its folder."""
    named = modules(ROOT, ["gateway", "plugins", "catalog_adapters"])
    assert len(named) > 300
    assert [path.as_posix() for path in named if not suite(ROOT, path)] == []


def test_tests_that_import_a_module_come_first() -> None:
    tests = suite(ROOT, Path("gateway/sluicegate/access/authentication/oidc/keys.py"))
    assert tests[0] == "tests/access/authentication/oidc/test_issuer_keys.py"
    assert "tests/access/authentication/oidc/test_oidc.py" in tests[1:]
    assert suite(ROOT, Path("plugins/s3/src/sluicegate_s3/signer.py"))[0] == (
        "plugins/s3/tests/test_signer.py"
    )


def test_nothing_changed_is_no_mistake(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], repository) == 0
    assert "no module" in capsys.readouterr().out


def test_a_mutation_is_python() -> None:
    source = dedent(
        """
        async def run(stack, items):
            for item in items:
                await stack.enter(
                    item,
                )
        """
    )
    changed = diffs(source)
    assert "-        await stack.enter(\n-            item,\n-        )\n+        pass" in changed
