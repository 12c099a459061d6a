"""Which versions of a model a recipient can name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.gateways.memory_assets import CHURN, versions

from sluicegate.api import NotFound, UnsupportedOperation
from sluicegate.protocols.delta_sharing.assets.versions import (
    check_ready,
    is_ready,
    shared_versions,
    version_aliased,
    version_numbered,
)

PART = replace(CHURN, versions=(1, 3), aliases=(("Old", 1), ("champion", 1)))


def test_all_versions_are_shared_by_default_in_their_order() -> None:
    assert shared_versions(CHURN, versions()[::-1]) == versions()


def test_only_declared_versions_are_shared() -> None:
    assert [each.version for each in shared_versions(PART, versions())] == [1, 3]


def test_a_version_is_found_by_its_number() -> None:
    assert version_numbered(CHURN, versions(), "2").version == 2


@pytest.mark.parametrize("number", ["4", "-1", "", "two", "²", "٢", "9" * 5000])
def test_other_numbers_are_not_found(number: str) -> None:
    with pytest.raises(NotFound, match=r"sales\.eu\.churn has no version"):
        version_numbered(CHURN, versions(), number)


def test_a_version_that_is_not_shared_is_not_found() -> None:
    with pytest.raises(NotFound):
        version_numbered(PART, versions(), "2")


@pytest.mark.parametrize(("alias", "version"), [("champion", 2), ("CHAMPION", 2), ("Next", 3)])
def test_aliases_of_the_catalog_are_found_in_any_case(alias: str, version: int) -> None:
    assert version_aliased(CHURN, versions(), alias).version == version


@pytest.mark.parametrize("alias", ["old", "Champion"])
def test_declared_aliases_come_first(alias: str) -> None:
    assert version_aliased(PART, versions(), alias).version == 1


def test_an_alias_of_a_version_that_is_not_shared_is_not_found() -> None:
    only_first = replace(CHURN, versions=(1,))
    with pytest.raises(NotFound, match="no alias 'Champion'"):
        version_aliased(only_first, versions(), "Champion")


def test_an_alias_that_was_moved_by_the_share_no_longer_names_the_catalogs_version() -> None:
    moved = replace(CHURN, aliases=(("champion", 9),))
    with pytest.raises(NotFound):
        version_aliased(moved, versions(), "champion")


def test_only_ready_versions_can_be_read() -> None:
    first, _, pending = versions()
    assert is_ready(first)
    check_ready(CHURN, first)
    assert not is_ready(pending)
    with pytest.raises(UnsupportedOperation, match=r"version 3 .* sales\.eu\.churn is PENDING"):
        check_ready(CHURN, pending)
