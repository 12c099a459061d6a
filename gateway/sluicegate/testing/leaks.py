"""A fixture that fails a test run whose logs or databases hold a secret of the run.

A suite has it when its `conftest.py` imports it:

    from sluicegate.testing.leaks import no_secret_leaks

Of a run on several workers, each searches what it wrote itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate.testing.secrets import begin_register, keep_secret, registered, search

__all__ = ["no_secret_leaks"]

_PLANTED = "a planted secret"


@pytest.fixture(scope="session", autouse=True)
def no_secret_leaks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No secret that a test of this run made is in a log or a database when the run ends."""
    base = tmp_path_factory.getbasetemp()
    begin_register(base / "secrets.registered")
    with _own_log(base / "in-process.gateway.log"):
        yield
    secrets = registered() - {_PLANTED}
    _check_that_it_finds(tmp_path_factory.mktemp("planted"))
    found = search([base], secrets)
    assert found.files, "neither a log nor a database was searched"
    assert found.leaks == (), f"secrets in what gateways wrote: {found.leaks}"


@contextmanager
def _own_log(file: Path) -> Iterator[None]:
    """What the gateway's and its plugins' loggers say in this process, from warnings upwards."""
    handler = logging.FileHandler(file)
    handler.addFilter(lambda record: record.name.startswith("sluicegate"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("sluicegate.testing").warning("the search for secrets begins")
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
