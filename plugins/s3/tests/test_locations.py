"""What all object storages do with locations and vended credentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from sluicegate.api import Storage, TemporaryCredentials
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.storage import ObjectStorageBehaviour, Vended

NEW_CENTURY = 4_102_444_800_000


class TestLocations(ObjectStorageBehaviour):
    spellings: ClassVar[Sequence[str]] = [f"{each}://lake/sales/a" for each in ("s3", "s3a", "s3n")]
    outside: ClassVar[Sequence[str]] = [
        "s3://lake/salesroom/a",
        "s3://lake/other/a",
        "s3://lake/",
        "s3://other/sales/a",
        "s3://lake.other/sales/a",
        "gs://lake/sales/a",
        "https://lake/sales/a",
        "lake/sales/a",
        "/sales/a",
        "",
    ]

    @pytest.fixture
    def storage(self) -> Storage:
        settings = {"prefix": "s3://lake/sales", "region": "eu-west-1"}
        keys = {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret"}
        return S3Storage.configured(S3Config.model_validate({**settings, **keys}), FakeContext())

    @pytest.fixture
    def vended(self) -> Vended:
        def vended(secret: str) -> TemporaryCredentials:
            keys = {"access_key_id": "AKIA", "secret_access_key": secret}
            return TemporaryCredentials("s3://lake/", "aws", keys, NEW_CENTURY)

        return vended

    @pytest.fixture
    def unusable(self, vended: Vended) -> Sequence[TemporaryCredentials]:
        return [
            replace(vended("hush"), kind="azure"),
            replace(vended("hush"), secret={"sas_token": "hush"}),
        ]
