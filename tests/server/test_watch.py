"""When a configuration is loaded again: at a request, or at a change of one of its files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sluicegate.config import Settings, load_settings
from sluicegate.server.restart import restart_required
from sluicegate.server.watch import ConfigurationWatch
from sluicegate.server.watched_files import watched_files

LOOK = 0.001
CONFIGURATION = """
server: {{reload: {mode}}}
signing_key: {{file: secrets/key}}
"""


class Volume:
    """A configuration and a secret that is mounted as Kubernetes does: links into a folder."""

    def __init__(self, folder: Path, mode: str = "on_change") -> None:
        self.folder = folder
        (folder / "secrets").mkdir()
        self.mount("1")
        (folder / "secrets" / "key").symlink_to("..data/key")
        (folder / "gateway.yaml").write_text(CONFIGURATION.format(mode=mode))

    def mount(self, version: str) -> None:
        """Replace the secret, by another target of the link of its folder."""
        (self.folder / "secrets" / version).mkdir()
        key = self.folder / "secrets" / version / "key"
        key.touch(mode=0o600)
        key.write_text(version * 64)
        link = self.folder / "secrets" / "..new"
        link.symlink_to(version)
        link.rename(self.folder / "secrets" / "..data")

    def load(self) -> Settings:
        return load_settings(self.folder / "gateway.yaml")


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


async def waiting(watch: ConfigurationWatch) -> asyncio.Task[None]:
    task = asyncio.create_task(watch.wait())
    await asyncio.sleep(20 * LOOK)
    assert not task.done()
    return task


async def test_a_secret_that_kubernetes_replaces_is_a_change(volume: Volume) -> None:
    watch = ConfigurationWatch(volume.load(), LOOK)
    task = await waiting(watch)
    volume.mount("2")
    await task
    (await waiting(watch)).cancel()  # once


async def test_a_written_configuration_is_a_change(volume: Volume) -> None:
    watch = ConfigurationWatch(volume.load(), LOOK)
    task = await waiting(watch)
    (volume.folder / "gateway.yaml").write_text("{}")
    await task


async def test_a_file_that_appears_later_is_watched_once_it_is_configured(volume: Volume) -> None:
    watch = ConfigurationWatch(volume.load(), LOOK)
    task = await waiting(watch)
    other = volume.folder / "other"
    other.touch(mode=0o600)
    other.write_text("3" * 64)
    (volume.folder / "gateway.yaml").write_text(
        "{server: {reload: on_change}, signing_key: {file: other}}"
    )
    await task
    watch.applied(volume.load())
    task = await waiting(watch)
    other.write_text("4" * 65)
    await task


async def test_changes_wait_for_a_request_unless_they_are_watched(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "signal")
    watch = ConfigurationWatch(volume.load(), LOOK)
    task = await waiting(watch)
    volume.mount("2")
    await asyncio.sleep(20 * LOOK)
    assert not task.done()
    watch.request()
    await task


async def test_a_failed_attempt_is_repeated(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate.server.watch._RETRY_SECONDS", LOOK)
    watch = ConfigurationWatch(volume.load(), LOOK)
    watch.failed()
    await watch.wait()


def test_files_of_keys_and_certificates_are_watched(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        f"{{database: 'sqlite:///{tmp_path}/x.db', "
        f"server: {{tls: {{certificate: {tmp_path}/c.pem, key: {tmp_path}/k.pem}}}}}}"
    )
    names = {each.name for each in watched_files(load_settings(file))}
    assert names == {"gateway.yaml", "x.key", "c.pem", "k.pem"}


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({}, {"port": 1, "host": "::1"}, ["server.host", "server.port"]),
        ({}, {"compression": False, "max_requests": 3, "reload": "on_change"}, []),
        ({}, {"tls": {"certificate": "c", "key": "k"}}, ["server.tls"]),
        (
            {"tls": {"certificate": "c", "key": "k"}},
            {"tls": {"certificate": "other", "key": "k", "client_ca": "ca"}},
            ["server.tls.client_ca"],
        ),
    ],
)
def test_settings_of_the_server_need_a_restart(
    before: dict[str, object], after: dict[str, object], names: list[str]
) -> None:
    old, new = (Settings.model_validate({"server": server}) for server in (before, after))
    assert restart_required(old, new) == names


def test_limits_need_no_restart() -> None:
    new = Settings.model_validate({"limits": {"address": {"requests_per_minute": 1}}})
    assert restart_required(Settings(), new) == []
