"""Files of Iceberg clients count once for each path, with the size that the snapshot has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.gateways.memory_gateway import (
    KEYS,
    PUBLIC_URL,
    MemoryGateway,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_grants import ACME
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api.errors import RateLimited
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.generated_names import MANIFEST_LIST
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint
from sluicegate.protocols.iceberg_rest.file_access.signed_files import SignedFiles
from sluicegate.protocols.iceberg_rest.file_access.signing import RequestSigner
from sluicegate_testing.fakes import MemoryStorage

ENDPOINT = store_endpoint(PUBLIC_URL)
ROWS = [file(name, size=size) for name, size in (("a", 100), ("b", 20), ("c", 3))]


class Signing:
    """Signs requests of a recipient with limits."""

    def __init__(self, **limits: Any) -> None:
        self.gateway: MemoryGateway = memory_gateway(format=MemoryFormat([snapshot(*ROWS)]))
        self.limiter = RecipientLimiter(RecipientLimitSettings.model_validate(limits))
        self.gateway.vending.limiter = self.limiter
        self._paths = FilePaths(KEYS, 86_400)
        signer = self.gateway.signer
        self._signer = RequestSigner(
            self._paths,
            signer,
            GeneratedLinks(KEYS, PUBLIC_URL, 3600),
            ENDPOINT,
            files=SignedFiles(signer, self.gateway.reader),
        )

    async def sign(self, path: str, method: str = "GET") -> None:
        """Request a signature."""
        table = await self.gateway.open(shared_table())
        view = self._paths.of_view(table.principal, table.shared, table.source, 0)
        uri = f"{ENDPOINT}/{view.of([path])[0].removeprefix('s3://')}"
        await self._signer.sign(table, {"region": "r", "uri": uri, "method": method, "headers": {}})

    @property
    def offered(self) -> tuple[int, int]:
        """Files and bytes."""
        used = self.limiter.use.of(ACME.id, self.limiter.today)
        return used.files, used.bytes


async def test_ranges_of_a_file_count_once() -> None:
    signing = Signing(files_per_day=10)
    for path in ("a", "a", "b", "a"):
        await signing.sign(path)
    await asyncio.gather(*(signing.sign("c") for _ in range(5)))
    assert signing.offered == (3, 123)


@pytest.mark.parametrize("limits", [{"files_per_day": 2}, {"bytes_per_day": 120}])
async def test_a_file_beyond_the_quota_is_refused_and_others_stay_readable(
    limits: dict[str, int],
) -> None:
    signing = Signing(**limits)
    await signing.sign("a")
    await signing.sign("b")
    for _ in range(2):
        with pytest.raises(RateLimited):
            await signing.sign("c")
    await signing.sign("a")
    assert signing.offered == (2, 120)


async def test_only_reading_data_files_counts() -> None:
    signing = Signing(files_per_day=1)
    await signing.sign(MANIFEST_LIST)
    await signing.sign("_delta_log/vectors.bin")
    assert signing.offered == (0, 0)


@pytest.mark.parametrize(("binds_method", "offered"), [(True, (0, 0)), (False, (1, 100))])
async def test_a_signature_for_head_counts_unless_it_is_valid_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, binds_method: bool, offered: tuple[int, int]
) -> None:
    monkeypatch.setattr(MemoryStorage, "binds_method", binds_method)
    signing = Signing(files_per_day=1)
    await signing.sign("a", "HEAD")
    assert signing.offered == offered


async def test_no_snapshot_is_read_for_recipients_without_a_quota() -> None:
    signing = Signing(requests_per_minute=1)
    await signing.sign("a")
    assert signing.gateway.format.read == []
