"""The search for secrets finds what is there: it is the one test that must not pass by chance."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.secrets_grep import keep_secret, keep_url_secret, registered, search

SECRET = "s3cr3t/with+signs="


@pytest.mark.parametrize("name", ["gateway.log", "sluicegate.db", "deep/down/gateway.db-wal"])
@pytest.mark.parametrize("spelled", [SECRET, "s3cr3t%2Fwith%2Bsigns%3D"])
def test_secrets_are_found_in_any_spelling(tmp_path: Path, name: str, spelled: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\x00\xff" + spelled.encode() + b"\n")
    found = search([tmp_path], [SECRET, "another secret"])
    assert (found.files, len(found.leaks)) == (1, 1)
    assert SECRET not in found.leaks[0]


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "gateway.log").write_text("GET /shares 200")
    assert search([tmp_path], [SECRET]).leaks == ()


def test_what_is_kept_is_searched_for_at_the_end_of_the_run() -> None:
    keep_secret("a secret that no gateway sees", "short")
    keep_url_secret("https://store.example/a?X-Amz-Signature=0123456789abcdef&X-Amz-Date=20260101")
    assert {"a secret that no gateway sees", "0123456789abcdef"} <= registered()
    assert "short" not in registered()
