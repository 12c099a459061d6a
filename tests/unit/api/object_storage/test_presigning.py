"""Copied states make the HMAC of each message."""

from __future__ import annotations

import hmac

import pytest

from sluicegate.api import hmac_states


@pytest.mark.parametrize("length", [0, 32, 64, 65, 200])
def test_the_states_make_an_hmac(length: int) -> None:
    key = bytes(range(length))
    inner, outer = hmac_states(key)
    for message in (b"", b"message"):
        digest, mac = inner.copy(), outer.copy()
        digest.update(message)
        mac.update(digest.digest())
        assert mac.digest() == hmac.digest(key, message, "sha256")
