"""What a gateway reports to systemd, and that the units agree with the commands."""

from __future__ import annotations

import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gateways.gateway import running_gateway
from support.process.external_files import skip_without
from support.servers.serving import script

from sluicegate._util import service_manager

UNITS = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
SECONDS = 30


class Manager:
    """The socket of a service manager."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1))
        self._socket.settimeout(SECONDS)

    def next(self) -> list[str]:
        """The names of the next message's fields, with the values of the states."""
        fields = self._socket.recv(4096).decode().split("\n")
        return [field if field.endswith("=1") else field.partition("=")[0] for field in fields]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.close()


@pytest.mark.parametrize("processes", [1, 2])
def test_systemd_follows_a_gateway_from_its_start_to_its_end(
    manager: Manager, tmp_path: Path, processes: int
) -> None:
    (tmp_path / "gateway.yaml").write_text("{}")
    environment = {"NOTIFY_SOCKET": manager.address}
    with running_gateway(tmp_path, processes=processes, env=environment) as gateway:
        assert manager.next() == ["READY=1"]
        gateway.process.send_signal(signal.SIGHUP)
        assert manager.next() == ["RELOADING=1", "MONOTONIC_USEC"]
        assert manager.next() == ["READY=1"]
        (tmp_path / "gateway.yaml").write_text("servr: {}")
        gateway.process.send_signal(signal.SIGHUP)
        assert manager.next() == ["RELOADING=1", "MONOTONIC_USEC"]
        assert manager.next() == ["READY=1"]  # with the previous configuration
        gateway.process.terminate()
        assert manager.next() == ["STOPPING=1"]
        assert gateway.process.wait(SECONDS) == 0


def test_a_socket_can_have_an_abstract_name(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = Manager(f"@sluicegate-test-{id(monkeypatch)}")
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    service_manager.notify_stopping()
    assert manager.next() == ["STOPPING=1"]
    manager.close()


@pytest.mark.parametrize("name", ["", "relative", "/absent/socket", "@absent"])
def test_a_service_manager_that_does_not_listen_is_no_problem(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    service_manager.notify_ready()


@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")), ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_with_its_options(unit: Path) -> None:
    (line,) = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    arguments = shlex.split(line.removeprefix("ExecStart="))[1:]
    done = subprocess.run([script(), *arguments, "--help"], capture_output=True, check=False)
    assert done.returncode == 0


@skip_without("systemd-analyze", also_in_ci=True)
@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")), ids=lambda unit: unit.stem)
def test_a_unit_is_valid_and_restricted(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/sluicegate/bin/sluicegate", "/bin/true"))
    assert analyzed("verify", "--man=no", str(copy)) == ""
    exposure = analyzed("security", "--offline=yes", "--no-pager", "--threshold=20", str(copy))
    assert "Overall exposure level" in exposure


def analyzed(*arguments: str) -> str:
    """The output of `systemd-analyze`, which finds no problem."""
    program = shutil.which("systemd-analyze") or ""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
