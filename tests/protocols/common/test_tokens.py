import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api.errors import InvalidRequest
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

KEY = bytes(range(32))


def signer(now: float = 1_000_000.0, *keys: bytes) -> TokenSigner:
    return TokenSigner(KeyRing(keys or (KEY,)), lifetime=60, clock=lambda: now)


def test_a_token_gives_back_its_state() -> None:
    token = signer().sign({"after": "orders", "version": 7}, bound_to="acme/shares")
    state = signer(1_000_059).verify(token, bound_to="acme/shares", parameter="pageToken")
    assert state == {"after": "orders", "version": 7}


def test_a_token_of_another_request_recipient_or_key_is_refused() -> None:
    token = signer().sign({"after": "orders"}, bound_to="acme/shares")
    for other, bound in [(signer(), "evil/shares"), (signer(1_000_000.0, bytes(32)), "acme/shares")]:
        with pytest.raises(InvalidRequest, match="pageToken is not valid for this request"):
            other.verify(token, bound_to=bound, parameter="pageToken")


def test_an_old_token_is_refused() -> None:
    token = signer().sign({}, bound_to="acme")
    with pytest.raises(InvalidRequest, match="pageToken has expired"):
        signer(1_000_061).verify(token, bound_to="acme", parameter="pageToken")


def test_the_first_key_signs_and_every_key_verifies() -> None:
    old, new = KEY, bytes(32)
    token = signer(1_000_000.0, old).sign({"after": "orders"}, bound_to="acme")
    both = signer(1_000_000.0, new, old)
    assert both.verify(token, bound_to="acme", parameter="pageToken") == {"after": "orders"}
    renewed = both.sign({}, bound_to="acme")
    assert signer(1_000_000.0, new).verify(renewed, bound_to="acme", parameter="pageToken") == {}


@given(st.data())
def test_no_changed_byte_passes(data: st.DataObject) -> None:
    token = signer().sign({"after": "orders"}, bound_to="acme")
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    forged = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    with pytest.raises(InvalidRequest):
        signer().verify(forged, bound_to="acme", parameter="pageToken")


@given(st.text())
def test_no_text_is_an_unexpected_error(text: str) -> None:
    with pytest.raises(InvalidRequest):
        signer().verify(text, bound_to="acme", parameter="pageToken")
