"""What holds for all suites."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support.process.forked import forked_commands
from support.process.installed import remembered_plugins
from support.process.random_cases import times
from support.process.shared_trust import shared_trust
from support.servers.databases import postgres

from sluicegate_testing.leaks import no_secret_leaks

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


@pytest.fixture(scope="session", autouse=True)
def clients_share_their_trust() -> Iterator[None]:
    """Let clients of HTTP share a TLS context."""
    with shared_trust():
        yield


@pytest.fixture(scope="session", autouse=True)
def plugins_are_remembered() -> Iterator[None]:
    """Look for installed plugins once, and not for each gateway and command."""
    with remembered_plugins():
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run modules marked `slow` first, so that the end of a run keeps all of its workers busy.

    For each change, a test with many parameters runs on PostgreSQL with the first of them: the others
    send the same statements. At night, it runs with all.
    """
    if times() == 1:
        left_out = list(_repeated_on_postgresql(items))
        config.hook.pytest_deselected(items=left_out)
        unwanted = set(left_out)
        items[:] = [item for item in items if item not in unwanted]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def _repeated_on_postgresql(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    seen: set[str] = set()
    for item in items:
        parameters = (
            item.callspec.params
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else {}
        )
        if parameters.get("database_url") == "postgresql":
            function = item.nodeid.partition("[")[0]
            if function in seen:
                yield item
            seen.add(function)
