"""Does what the Dockerfile says without a container: installs, and serves as its user.

The files that `.dockerignore` includes are copied, the `RUN` instruction of the build stage is executed
on them, and the gateway serves as the user of the image, who can write to nothing but its directory. It
needs root, the package registry, port 8080, and a Python that every user can execute:

    python tests/packaging/container.py /usr/bin/python3

What only an image has, such as its base, is not tested.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
SECONDS = 60
PORT = 8080  # of the health check


def main() -> None:
    if os.geteuid() != 0:
        sys.exit("only root can start the gateway as another user")
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.TemporaryDirectory(prefix="sluicegate-container-") as folder:
        Path(folder).chmod(0o755)
        source, target = Path(folder) / "src", Path(folder) / "opt"
        copy_context(source)
        install(source, target, python)
        serve(target, Path(folder) / "var")
    print("the gateway was installed, and serves, as the Dockerfile says")


def copy_context(source: Path) -> None:
    """Copy what `.dockerignore` includes."""
    source.mkdir()
    excluded = [line[3:] for line in ignored() if line.startswith("**/")]
    for name in (line[1:] for line in ignored() if line.startswith("!")):
        found = ROOT / name
        if found.is_dir():
            shutil.copytree(found, source / name, ignore=shutil.ignore_patterns(*excluded))
        else:
            shutil.copy(found, source / name)


def ignored() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    return [line for line in lines if line and not line.startswith("#")]


def install(source: Path, target: Path, python: str) -> None:
    """Execute the first `RUN` instruction."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    command = re.findall(r"^RUN (.+)$", text, re.MULTILINE)[0]
    command = command.replace("/opt/sluicegate", str(target)).replace("python -m", f"{python} -m")
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(["/bin/sh", "-euc", command], cwd=source, env=environment, check=True)


def serve(target: Path, state: Path) -> None:
    """Start the gateway as the user of the image, and run its health check."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    (user,) = re.findall(r"^USER (\d+):\d+$", text, re.MULTILINE)
    (check,) = re.findall(r'^HEALTHCHECK .*CMD \["python", "-c", "(.+)"\]$', text, re.MULTILINE)
    (state / "etc").mkdir(parents=True)
    (state / "etc" / "gateway.yaml").write_text("database: sqlite:///sluicegate.db\n")
    (state / "lib").mkdir()
    os.chown(state / "lib", int(user), int(user))
    environment = {
        "PATH": f"{target}/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SLUICEGATE_CONFIG": str(state / "etc" / "gateway.yaml"),
    }
    process = subprocess.Popen(
        [target / "bin" / "sluicegate", "serve", "--host", "0.0.0.0"],  # noqa: S104  (as the image)
        cwd=state / "lib",
        env=environment,
        user=int(user),
        group=int(user),
        extra_groups=[],
    )
    try:
        wait_until_ready()
        subprocess.run([target / "bin" / "python", "-c", check], check=True)
        written = {file for file in state.parent.rglob("*") if file.stat().st_uid == int(user)}
        assert all(file.is_relative_to(state / "lib") for file in written), written
    finally:
        process.terminate()
    assert process.wait(SECONDS) == 0


def wait_until_ready() -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.2)


if __name__ == "__main__":
    main()
