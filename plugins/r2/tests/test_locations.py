"""What all object storages do with locations and vended credentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from sluicegate.api import TemporaryCredentials
from sluicegate_r2.config import R2Config
from sluicegate_r2.storage import R2Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.storage import ObjectStorageBehaviour, Vended

HOST = "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
LAKE = f"r2://lake@{HOST}"
NEW_CENTURY = 4_102_444_800_000


class TestLocations(ObjectStorageBehaviour):
    spellings: ClassVar[Sequence[str]] = [f"{LAKE}/sales/a", f"R2://lake@{HOST.upper()}/sales/a"]
    outside: ClassVar[Sequence[str]] = [
        f"{LAKE}/salesroom/a",
        f"{LAKE}/other/a",
        f"{LAKE}/",
        f"r2://other@{HOST}/sales/a",
        f"r2://lake@{HOST.replace('.r2.', '.eu.r2.')}/sales/a",
        "r2://lake/sales/a",
        "s3://lake/sales/a",
        "",
    ]

    @pytest.fixture
    def storage(self) -> R2Storage:
        keys = {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret"}
        settings = {"prefix": f"{LAKE}/sales", "vending": "local", **keys}
        return R2Storage.configured(R2Config.model_validate(settings), FakeContext())

    @pytest.fixture
    def vended(self) -> Vended:
        def vended(secret: str) -> TemporaryCredentials:
            keys = {"access_key_id": "AKIA", "secret_access_key": secret}
            return TemporaryCredentials(f"{LAKE}/", "r2", keys, NEW_CENTURY)

        return vended

    @pytest.fixture
    def unusable(self, vended: Vended) -> Sequence[TemporaryCredentials]:
        given = vended("hush")
        return [replace(given, kind="aws"), replace(given, kind="azure"), replace(given, kind="gcp")]

    async def test_no_credentials_are_offered_for_locations_outside(self, storage: R2Storage) -> None:
        assert storage.vends(f"{LAKE}/sales/a")
        assert not [location for location in self.outside if storage.vends(location)]
