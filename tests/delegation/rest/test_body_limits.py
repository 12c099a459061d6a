"""Each endpoint of the delegation service refuses bodies that are longer than its setting allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.servers.delegation import API, Desk, FolderPurge, running_service

DELEGATION, OAUTH = 2_000, 16_384
ENDPOINTS = {
    "/v1/tasks": DELEGATION,
    "/v1/tasks/execute/synchronous": DELEGATION,
    "/v1/oauth/tokens": OAUTH,
}


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_a_longer_body_is_refused(desk: Desk, tmp_path: Path, path: str) -> None:
    limits = {"request_body": {"delegation": DELEGATION}}
    executor = FolderPurge(tmp_path)
    async with running_service(desk, executor, with_worker=False, limits=limits) as service:
        longer = await service.http.post(API + path, content=b"x" * (ENDPOINTS[path] + 1))
        assert longer.status_code == 413, longer.text
        assert f"larger than {ENDPOINTS[path]} bytes" in longer.text
        read = await service.http.post(API + path, content=b"x" * ENDPOINTS[path])
        assert read.status_code in (400, 401), read.text
