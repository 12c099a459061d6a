"""Which modules a change touched, and which test files are expected to notice a mistake in one."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_CORE = "gateway/sluicegate"
_SOURCES = re.compile(r"(gateway/sluicegate|(plugins|catalog_adapters)/\w+/src)/.*\.py")
_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)
# The kit for the tests of plugins is no part of what is tested; Spark needs its own environment.
_LEFT_OUT = (f"{_CORE}/testing.py", "plugins/testing/", "plugins/spark/")
# Tests that are not, or not only, in the folder of a package's name; the longest prefix counts.
_TESTS = {
    "catalog_adapters/iceberg/src": (
        *("catalog_adapters/iceberg/tests", "tests/iceberg_format"),
        "tests/attacks/test_iceberg_deletes.py",
        "tests/attacks/test_iceberg_files.py",
    ),
    f"{_CORE}/admin/console": ("tests/console", "tests/browser/test_console.py"),
    f"{_CORE}/api/clients": ("tests/api/clients", "catalog_adapters", "plugins/s3/tests"),
    f"{_CORE}/api/object_storage": (
        "tests/api/object_storage",
        "tests/unit/api/object_storage",
        "plugins/s3/tests",
        "plugins/azure/tests",
    ),
    f"{_CORE}/api/conditions": ("tests/tables/predicates",),
    f"{_CORE}/api/catalogs.py": ("tests/catalogs", "catalog_adapters"),
    f"{_CORE}/api/config.py": ("tests/config",),
    f"{_CORE}/api/delegation": ("tests/delegation", "tests/attacks/test_task_authority.py"),
    f"{_CORE}/api/types.py": ("tests/plugins",),
    f"{_CORE}/app.py": ("tests/protocols/delta_sharing/endpoints", "tests/cli"),
    f"{_CORE}/cli/demo": ("tests/clients/test_demo.py",),
    f"{_CORE}/delegation": (
        *("tests/delegation", "tests/unit/delegation", "tests/attacks/test_task_authority.py"),
        *("tests/attacks/test_task_bodies.py", "tests/attacks/workers"),
    ),
    f"{_CORE}/formats.py": ("tests/iceberg_format",),
    f"{_CORE}/http": (
        *("tests/http", "tests/attacks/test_http_limits.py", "tests/attacks/test_overload.py"),
        *("tests/delegation/rest/test_http_limits.py", "tests/cli"),
    ),
    f"{_CORE}/protocols/common": ("tests/protocols", "tests/unit/protocols"),
    f"{_CORE}/protocols/delta_sharing": (
        "tests/protocols/delta_sharing",
        "tests/unit/protocols/delta_sharing",
    ),
    f"{_CORE}/protocols/file_links": ("tests/protocols/file_links", "tests/unit/protocols/file_links"),
    f"{_CORE}/protocols/iceberg_rest": (
        "tests/protocols/iceberg_rest",
        "tests/unit/protocols/iceberg_rest",
    ),
    f"{_CORE}/server": ("tests/server", "tests/http", "tests/cli"),
    f"{_CORE}/signing": (
        "tests/unit/protocols/presigning/test_signer.py",
        "tests/protocols/common",
    ),
    f"{_CORE}/tables/changes.py": ("tests/protocols/delta_sharing/changes",),
    f"{_CORE}/tables/delta": (
        *("tests/tables", "tests/protocols/delta_sharing/changes", "tests/attacks/test_delta_files.py"),
        "tests/attacks/test_delta_checkpoints.py",
    ),
    f"{_CORE}/tables/predicates": ("tests/tables/predicates",),
    f"{_CORE}/tables/snapshot_index": (
        "tests/tables/snapshot_index",
        "tests/protocols/delta_sharing/endpoints/test_indexed_tables.py",
    ),
    f"{_CORE}/vending/hadoop": ("tests/vending/hadoop",),
}


def changed_modules(root: Path, base: str) -> list[Path]:
    """Modules that differ from where the branch left another, with what is not committed yet."""
    fork = git(root, "merge-base", base, "HEAD").strip()
    changed = git(root, "diff", "--name-only", "--diff-filter=d", fork)
    added = git(root, "ls-files", "--others", "--exclude-standard")
    return modules(root, [*changed.splitlines(), *added.splitlines()])


def modules(root: Path, names: Sequence[str]) -> list[Path]:
    """The modules among files and folders, named relative to the root."""
    files = [
        file
        for name in names
        for file in ((root / name).rglob("*.py") if (root / name).is_dir() else [root / name])
    ]
    relative = {file.relative_to(root) for file in files if file.is_file()}
    return sorted(
        path
        for path in relative
        if _SOURCES.fullmatch(path.as_posix()) and not path.as_posix().startswith(_LEFT_OUT)
    )


def suite(root: Path, module: Path) -> list[str]:
    """The test files for a module: those that import it, then the others of its package's folder."""
    path = module.as_posix()
    prefix = max(filter(path.startswith, _TESTS), key=len, default=None)
    if module.parts[0] == "gateway":
        own, packages = f"tests/{module.parts[2].removesuffix('.py')}", 1
        everywhere = root / "tests"
    else:
        own, packages = Path(*module.parts[:2], "tests").as_posix(), 3
        everywhere = root / own
    folders = (own,) if prefix is None else _TESTS[prefix]
    name = ".".join(module.with_suffix("").parts[packages:])
    near = [test for folder in folders for test in _tests(root / folder)]
    name = name.removesuffix(".__init__")
    direct = _importers(everywhere).get(name, ())
    ordered = dict.fromkeys([*direct, *near])
    return [test.relative_to(root).as_posix() for test in ordered]


def git(root: Path, *arguments: str) -> str:
    """What a Git command prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@cache
def _importers(folder: Path) -> Mapping[str, Sequence[Path]]:
    """The test files below a folder, by the modules that they import, or import from."""
    found: dict[str, list[Path]] = defaultdict(list)
    for test in _tests(folder):
        for name in set(_IMPORT.findall(test.read_text())):
            found[name].append(test)
    return found


@cache
def _tests(place: Path) -> Sequence[Path]:
    return [place] if place.is_file() else sorted(place.rglob("test_*.py"))
