"""What holds for all suites."""

import logging
import signal
from collections.abc import Iterator

import pytest
from support.secrets_grep import begin_register, keep_secret, registered, search

# A test run in the background inherits "ignore Ctrl-C", and so would every command that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _secrets_stay_secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No secret that a test of this run made is in a log or a database when the run ends."""
    base = tmp_path_factory.getbasetemp()
    planted = tmp_path_factory.mktemp("planted")
    begin_register(base / "secrets.registered")
    own = logging.FileHandler(base / "in-process.gateway.log")
    logging.getLogger("sluicegate").addHandler(own)
    yield
    logging.getLogger("sluicegate").removeHandler(own)
    own.close()
    secrets = registered()
    keep_secret("a planted secret")
    (planted / "gateway.log").write_text("Authorization: Bearer a%20planted%20secret")
    assert search([planted], registered()).leaks, "a secret in a log was not found"
    found = search([base], secrets)
    assert not secrets or found.files > 2, "secrets were made, and no log or database was searched"
    assert found.leaks == (), f"secrets in what gateways wrote: {found.leaks}"
