"""What the test server of S3 says if it can't be used."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluicegate_testing.servers.seaweedfs import SeaweedFS, ServerStartError


def test_a_full_disk_is_an_error_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would start, and each write would wait for its time-out."""
    full = SimpleNamespace(total=252_000_000_000, free=973_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with (
        pytest.raises(ServerStartError, match=r"has 973 MB free of 252,000 MB: SeaweedFS accepts"),
        SeaweedFS.start(tmp_path),
    ):
        pass
