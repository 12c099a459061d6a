"""A gateway as its users run it: configuration files, the `sluicegate` command, a real port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sluicegate.testing.secrets import keep_secret

READY = "serving Delta Sharing at "
START_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class RunningGateway:
    """A gateway process, and where it answers."""

    folder: Path
    address: str
    process: subprocess.Popen[str]
    log_file: Path

    @property
    def endpoint(self) -> str:
        """Base URL of the Delta Sharing door."""
        return f"{self.address}/delta-sharing"

    @property
    def log(self) -> str:
        """Everything that the server has logged so far."""
        return self.log_file.read_text()

    def command(self, *arguments: str) -> str:
        """Run a `sluicegate` command on the same configuration."""
        return sluicegate(self.folder, *arguments)

    def profile(self, recipient: str, *options: str) -> Path:
        """A fresh profile of a declared recipient, with its endpoint pointing at this process.

        Args:
            recipient: Its name.
            options: Further ones of `recipient rotate`, such as `--oauth`.
        """
        path = self.folder / f"{recipient}.share"
        self.command("recipient", "rotate", recipient, "--profile", str(path), "--force", *options)
        content = json.loads(path.read_text())
        keep_secret(*(content[name] for name in ("bearerToken", "clientSecret") if name in content))
        content["endpoint"] = self.endpoint
        if "tokenEndpoint" in content:
            content["tokenEndpoint"] = f"{self.address}/oauth/token"
        path.write_text(json.dumps(content))
        return path


def sluicegate(folder: Path, *arguments: str) -> str:
    """Run a command in a folder that holds `gateway.yaml`; its output.

    Raises:
        AssertionError: It failed; the message holds what it said.
    """
    done = subprocess.run(
        [_script(), *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def write_configuration(folder: Path, settings: Mapping[str, Any], shares: Mapping[str, Any]) -> None:
    """Write `gateway.yaml` and `shares.yaml` (JSON is YAML) and apply the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gateway.yaml").write_bytes(orjson.dumps(settings))
    (folder / "gateway.yaml").chmod(0o600)
    (folder / "shares.yaml").write_bytes(orjson.dumps(shares))
    sluicegate(folder, "apply", "shares.yaml")


@contextmanager
def running_gateway(
    folder: Path, *, port: int = 0, env: Mapping[str, str] | None = None
) -> Iterator[RunningGateway]:
    """Serve the configuration of a folder on a port, by default a free one, until the block ends."""
    log_file = folder / "gateway.log"
    process = subprocess.Popen(
        [_script(), "serve", "--port", str(port)],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(env or {})},
    )
    ready = _Ready(process, log_file)
    try:
        yield RunningGateway(folder, ready.wait(), process, log_file)
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        ready.join()


class _Ready:
    """Copies the server's log into a file, and waits for the line that names its address."""

    def __init__(self, process: subprocess.Popen[str], log_file: Path) -> None:
        self._process = process
        self._log_file = log_file
        self._known = threading.Event()
        self._address: str | None = None
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        assert self._process.stderr is not None
        with self._log_file.open("a", buffering=1) as log, self._process.stderr as lines:
            for line in lines:
                log.write(line)
                if READY in line and self._address is None:
                    self._address = line.split(READY, 1)[1].split("/delta-sharing", 1)[0]
                    self._known.set()
        self._known.set()

    def wait(self) -> str:
        """The address.

        Raises:
            RuntimeError: The process ended, or did not get ready in time.
        """
        self._known.wait(START_TIMEOUT_SECONDS)
        if self._address is None:
            raise RuntimeError(f"the gateway did not start:\n{self._log_file.read_text()}")
        return self._address

    def join(self) -> None:
        """Wait for the end of the log."""
        self._thread.join(timeout=10)


def _script() -> str:
    return str(Path(sys.executable).with_name("sluicegate"))
