"""What holds for all suites."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support.process.forked import forked_commands
from support.servers.databases import postgres

from sluicegate.testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks", "postgres"]

# A test run in the background inherits "ignore Ctrl-C", and so would every command that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine, any example can be slow. In CI, this is Hypothesis' own choice.
settings.register_profile(
    "busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def commands_are_forked() -> Iterator[None]:
    """Fork the processes of the gateway from one that has imported it."""
    with forked_commands():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run modules marked `slow` first, so that the end of a run keeps all of its workers busy."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
