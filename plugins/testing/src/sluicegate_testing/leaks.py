"""A fixture that fails a test run if its logs or databases contain a secret of the run.

To use it in a suite, import it in `conftest.py`:

    from sluicegate_testing.leaks import no_secret_leaks

If a run has several workers, each of them searches only its own files. Which tests share a worker
differs from run to run, so a secret must not be a text that another test uses for something else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate_testing.secrets import (
    begin_register,
    keep_secret,
    registered,
    search,
    used_by_several,
)

__all__ = ["no_secret_leaks"]

_PLANTED = "a planted secret"


@pytest.fixture(scope="session", autouse=True)
def no_secret_leaks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Check at the end of the run that no log or database contains a secret of its tests."""
    base = tmp_path_factory.getbasetemp()
    begin_register(base / "secrets.registered")
    with _own_log(base / "in-process.gateway.log"):
        yield
    secrets = registered() - {_PLANTED}
    shared = used_by_several(secrets, {item.path for item in request.session.items})
    assert not shared, f"secrets of tests that other test modules contain, too: {shared}"
    _check_that_it_finds(tmp_path_factory.mktemp("planted"))
    found = search([base], secrets)
    assert found.files, "neither a log nor a database was searched"
    assert found.leaks == (), f"secrets in what gateways wrote: {found.leaks}"


@contextmanager
def _own_log(file: Path) -> Iterator[None]:
    """Write the warnings and errors of the gateway and its plugins in this process to a file."""
    handler = logging.FileHandler(file)
    handler.addFilter(lambda record: record.name.startswith("sluicegate"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("sluicegate_testing").warning("the search for secrets begins")
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _check_that_it_finds(folder: Path) -> None:
    keep_secret(_PLANTED)
    log = folder / "gateway.log"
    log.write_text("Authorization: Bearer a%20planted%20secret")
    assert search([folder], registered()).leaks, "a secret in a log was not found"
    log.unlink()
