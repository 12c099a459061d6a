"""`sluicegate demo`, run as its users run it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from support.process.ending import LEAVE
from support.process.external_files import skip_without

SCRIPT = str(Path(sys.executable).with_name("sluicegate"))
SERVING = "Serving until Ctrl-C."
WITHOUT = (
    "import sys; sys.modules[{name!r}] = None; from sluicegate.cli import main; main(sys.argv[1:])"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a demo said, which serves until the tests are through."""
    with _serving(tmp_path_factory.mktemp("demo")) as lines:
        yield lines


def test_the_check_reads_every_version_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = _run(["demo", "--check"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everything was read back exactly as it was written.\n")
    by_number, by_time = (
        [line.split(":")[0].strip() for line in done.stdout.splitlines() if mark in line]
        for mark in ("rows as written", "the same by its time")
    )
    assert by_number == ["version 0", "version 1", "version 2", "version 3", "version 0", "version 0"]
    assert by_time == ["version 0", "version 1", "version 2"]
    assert list(tmp_path.iterdir()) == []


def test_the_folder_holds_all_that_serving_takes(tmp_path: Path) -> None:
    folder = tmp_path / "a demo, kept"
    assert _run(["demo", "--check", "--folder", str(folder)], tmp_path).returncode == 0
    assert (folder / "you.share").stat().st_mode & 0o777 == 0o600
    configuration = str(folder / "gateway.yaml")
    assert _run(["config", "check", configuration], tmp_path).returncode == 0
    applied = _run(["apply", str(folder / "shares.yaml"), "--config", configuration], tmp_path)
    assert (applied.returncode, "made" in applied.stdout) == (0, False)


def test_the_pandas_snippet_runs_as_it_is_printed(said: str) -> None:
    snippet = _indented(said, "import delta_sharing")
    done = subprocess.run(
        [sys.executable, "-c", snippet + LEAVE], capture_output=True, text=True, timeout=60, check=True
    )
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["id", "day", "customer", "amount", "status", "country"]
    assert len(rows) == 20


@skip_without("curl")
def test_the_curl_snippet_runs_as_it_is_printed(said: str) -> None:
    pasted = ["/bin/sh", "-c", _indented(said, "curl")]
    done = subprocess.run(pasted, capture_output=True, timeout=60, check=True)
    listed = {table["name"] for table in orjson.loads(done.stdout)["items"]}
    assert listed == {"orders", "types", "readings"}


def test_no_output_holds_the_token(said: str) -> None:
    profile = re.search(r"profile (\S+)", said)
    assert profile is not None
    assert orjson.loads(Path(profile[1]).read_bytes())["bearerToken"] not in said


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    _fails_with(["demo", "--folder", str(tmp_path)], tmp_path, "is not empty")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_port_that_is_in_use_is_refused(tmp_path: Path, said: str) -> None:
    port = re.search(r"127\.0\.0\.1:(\d+)", said)
    assert port is not None
    _fails_with(["demo", "--port", port[1]], tmp_path, f"cannot listen on 127.0.0.1 port {port[1]}")


@pytest.mark.parametrize("name", ["deltalake", "delta_sharing"])
def test_a_missing_library_is_named_with_its_install_command(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(name=name), "demo", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'sluicegate[demo]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupted_check_does_not_pass(tmp_path: Path) -> None:
    process = _start(["demo", "--check"], tmp_path)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline().startswith("Sluicegate demo")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def _fails_with(arguments: Sequence[str], folder: Path, message: str) -> None:
    done = _run(arguments, folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """What a demo says until it serves; Ctrl-C at the end of the block ends it well."""
    process = _start(["demo"], folder)
    assert process.stdout is not None
    with process:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith(SERVING):
                break
        try:
            yield "".join(said)
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, ("", ""))
    assert list(folder.iterdir()) == []


def _run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [SCRIPT, *arguments],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(folder: Path) -> Mapping[str, str]:
    """A proxy that nobody answers must not matter; temporary folders show what is left behind."""
    proxy = "http://127.0.0.1:9"
    return {**os.environ, "TMPDIR": str(folder), "HTTP_PROXY": proxy, "http_proxy": proxy}


def _indented(said: str, start: str) -> str:
    """The indented block that starts so."""
    lines = said.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith(f"    {start}"))
    block = []
    for line in lines[first:]:
        if not line.startswith("    "):
            break
        block.append(line[4:])
    return "\n".join(block)
