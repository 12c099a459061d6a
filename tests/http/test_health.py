"""Readiness: an application that has started, and whose database responds."""

from __future__ import annotations

import pytest

from sluicegate.api.errors import Unavailable
from sluicegate.http.health import Readiness


async def _responds() -> None:
    pass


async def _silent() -> None:
    raise Unavailable("the database does not respond")


async def test_an_application_that_does_not_start_anything_is_ready() -> None:
    await Readiness(_responds).check()


async def test_an_application_is_ready_after_its_start() -> None:
    readiness = Readiness(_responds)
    readiness.begin()
    with pytest.raises(Unavailable, match="starting"):
        await readiness.check()
    readiness.complete()
    await readiness.check()


async def test_a_started_application_is_ready_only_while_its_database_responds() -> None:
    readiness = Readiness(_silent)
    readiness.begin()
    readiness.complete()
    with pytest.raises(Unavailable, match="database"):
        await readiness.check()
