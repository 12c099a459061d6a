"""A gateway as its users run it: configuration files, the `sluicegate` command, a real port."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
from support.process.forked import Command, can_fork, completed
from support.servers.migrated import new_sqlite
from support.servers.serving import script, serving

from sluicegate.cli.main import run
from sluicegate.config.settings import DEFAULT_DATABASE
from sluicegate_testing.secrets import keep_secret

_LOG_SECONDS = 5


@dataclass(frozen=True)
class RunningGateway:
    """A gateway process, and where it answers."""

    folder: Path
    address: str
    process: Command
    log_file: Path

    @property
    def endpoint(self) -> str:
        """Base URL of the Delta Sharing endpoint."""
        return f"{self.address}/delta-sharing"

    @property
    def log(self) -> str:
        """Everything that the server has logged so far."""
        return self.log_file.read_text()

    def logs(self, text: str) -> bool:
        """Whether the server logs a text: its lines may reach the file a moment after its answers."""
        until = time.monotonic() + _LOG_SECONDS
        while text not in self.log and time.monotonic() < until:
            time.sleep(0.02)
        return text in self.log

    def command(self, *arguments: str) -> str:
        """Run a `sluicegate` command on the same configuration."""
        return run_here(self.folder, *arguments)

    def profile(self, recipient: str, *options: str) -> Path:
        """A fresh profile of a declared recipient, with its endpoint pointing at this process."""
        path = self.folder / f"{recipient}.share"
        self.command("recipient", "rotate", recipient, "--profile", str(path), "--force", *options)
        content = json.loads(path.read_text())
        keep_secret(*(content[name] for name in ("bearerToken", "clientSecret") if name in content))
        content["endpoint"] = self.endpoint
        if "tokenEndpoint" in content:
            content["tokenEndpoint"] = f"{self.address}/oauth/token"
        path.write_text(json.dumps(content))
        return path


def sluicegate(folder: Path, *arguments: str, seconds: float = 60, fresh: bool | None = None) -> str:
    """Run a command in a folder that holds `gateway.yaml`; its output."""
    if can_fork() and not fresh:
        done = completed(folder, *arguments, seconds=seconds)
    else:
        done = subprocess.run(
            [script(), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def run_here(folder: Path, *arguments: str) -> str:
    """Run a command like `sluicegate`, but in this process, which needs a second less."""
    done = completed_here(folder, *arguments)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def completed_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, and return what a process would have said."""
    with (
        chdir(folder),
        redirect_stdout(StringIO()) as output,
        redirect_stderr(StringIO()) as errors,
        ThreadPoolExecutor(1) as pool,  # an event loop may run in this thread
    ):
        code = pool.submit(run, arguments).result()
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


def write_configuration(
    folder: Path,
    settings: Mapping[str, Any],
    shares: Mapping[str, Any],
    run: Callable[..., str] | None = None,
) -> None:
    """Write `gateway.yaml` and `shares.yaml` (JSON is YAML) and apply the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    scheme, _, database = settings.get("database", DEFAULT_DATABASE).partition(":///")
    if run is None and scheme == "sqlite" and not (folder / database).exists():
        new_sqlite(folder / database)
    (folder / "gateway.yaml").write_bytes(orjson.dumps(settings))
    (folder / "gateway.yaml").chmod(0o600)
    (folder / "shares.yaml").write_bytes(orjson.dumps(shares))
    (run or run_here)(folder, "apply", "shares.yaml", "--offline")


@contextmanager
def running_gateway(
    folder: Path,
    *,
    port: int = 0,
    host: str | None = None,
    processes: int = 1,
    env: Mapping[str, str] | None = None,
    fresh: bool | None = None,
) -> Iterator[RunningGateway]:
    """Serve the configuration of a folder on a port, by default a free one, until the block ends."""
    log_file = folder / "gateway.log"
    arguments = ["serve", "--port", str(port), *(("--host", host) if host else ())]
    if processes > 1:
        arguments += ["--processes", str(processes)]
    with serving(folder, *arguments, log_file=log_file, env=env, fresh=fresh) as (process, address):
        yield RunningGateway(folder, address, process, log_file)
