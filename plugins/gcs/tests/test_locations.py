"""What all object storages do with locations and vended credentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from sluicegate.api import Storage, TemporaryCredentials
from sluicegate_testing.storage import ObjectStorageBehaviour, Vended

from .conftest import Connected

NEW_CENTURY = 4_102_444_800_000


class TestLocations(ObjectStorageBehaviour):
    spellings: ClassVar[Sequence[str]] = [f"{each}://lake/sales/a" for each in ("gs", "gcs", "GS")]
    outside: ClassVar[Sequence[str]] = [
        "gs://lake/salesroom/a",
        "gs://lake/other/a",
        "gs://lake/",
        "gs://other/sales/a",
        "s3://lake/sales/a",
        "https://storage.googleapis.com/lake/sales/a",
        "/sales/a",
        "",
    ]

    @pytest.fixture
    def storage(self, connected: Connected) -> Storage:
        """Return a storage with the tokens of a server, which has no such bucket."""
        return connected(prefix="gs://lake/sales")

    @pytest.fixture
    def vended(self) -> Vended:
        def vended(secret: str) -> TemporaryCredentials:
            return TemporaryCredentials("gs://lake/", "gcp", {"oauth_token": secret}, NEW_CENTURY)

        return vended

    @pytest.fixture
    def unusable(self, vended: Vended) -> Sequence[TemporaryCredentials]:
        given = vended("hush")
        return [
            replace(given, kind="aws"),
            replace(given, secret={"sas_token": "hush"}),
            replace(given, expires_at=None),
        ]
