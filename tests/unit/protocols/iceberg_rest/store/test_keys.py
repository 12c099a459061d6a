"""Keys are opened by every process with the same signing keys, until they expire."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.gateways.memory_gateway import KEYS, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.process.clock import Clock
from support.process.random_cases import cases

from sluicegate.protocols.iceberg_rest.store.errors import StoreRefusal
from sluicegate.protocols.iceberg_rest.store.keys import LONGEST_TOKEN, StoreKeys
from sluicegate.signing.keyring import KeyRing

NOW = 1_800_000_000
ORDERS = shared_table()


def keys(ring: KeyRing = KEYS, now: float = NOW) -> StoreKeys:
    return StoreKeys(ring, 900, Clock(now))


def test_another_process_opens_a_key() -> None:
    issued = keys().issue(ACME, ORDERS)
    opened = keys(now=NOW + 5).open(issued.access_key_id, issued.token)
    assert opened.secret == issued.secret
    found = opened.key
    assert (found.recipient_id, found.recipient, found.table_id) == (ACME.id, ACME.name, ORDERS.id)
    assert (found.share, found.schema, found.table) == ("sales", "eu", "orders")
    assert (found.issued_at, found.expires_at) == (NOW * 1000, (NOW + 900) * 1000)
    assert issued.expires_at == found.expires_at


def test_keys_differ_by_recipient_table_and_time() -> None:
    issued = [
        keys().issue(ACME, ORDERS),
        keys().issue(RIVAL, ORDERS),
        keys().issue(ACME, shared_table("visits")),
        keys(now=NOW + 1).issue(ACME, ORDERS),
    ]
    assert len({each.secret for each in issued}) == len({each.access_key_id for each in issued}) == 4


def test_a_key_shows_no_secret() -> None:
    issued = keys().issue(ACME, ORDERS)
    opened = keys().open(issued.access_key_id, issued.token)
    assert issued.secret not in repr(issued) + repr(opened)
    assert issued.token not in repr(issued)
    assert issued.secret not in issued.token


def test_signing_keys_rotate() -> None:
    old, new = KeyRing((b"o" * 32,)), KeyRing((b"n" * 32, b"o" * 32))
    issued = keys(old).issue(ACME, ORDERS)
    assert keys(new).open(issued.access_key_id, issued.token).secret == issued.secret
    with pytest.raises(StoreRefusal):
        keys(KeyRing((b"n" * 32,))).open(issued.access_key_id, issued.token)
    later = keys(new).issue(ACME, ORDERS)
    with pytest.raises(StoreRefusal):
        keys(old).open(later.access_key_id, later.token)


def test_a_key_expires() -> None:
    issued = keys().issue(ACME, ORDERS)
    found = keys().open(issued.access_key_id, issued.token).key
    keys(now=NOW + 899).check_current(found)
    with pytest.raises(StoreRefusal) as refused:
        keys(now=NOW + 900).check_current(found)
    assert (refused.value.s3_code, refused.value.s3_status) == ("ExpiredToken", 400)


def test_changed_tokens_are_refused() -> None:
    issued, generator = keys().issue(ACME, ORDERS), random.Random(105)
    letters = "ABCabc019-_=+/ \n%."
    for _ in range(cases(2_000)):
        at = generator.randrange(len(issued.token))
        changed = issued.token[:at] + generator.choice(letters) + issued.token[at + 1 :]
        if changed != issued.token:
            with pytest.raises(StoreRefusal):
                keys().open(issued.access_key_id, changed)
    for other in (None, "", issued.token[:-1], issued.token + "A", "é", "A" * (LONGEST_TOKEN + 1)):
        with pytest.raises(StoreRefusal) as refused:
            keys().open(issued.access_key_id, other)
        assert refused.value.s3_code == "InvalidAccessKeyId"


def test_the_id_belongs_to_the_token() -> None:
    issued, other = keys().issue(ACME, ORDERS), keys().issue(RIVAL, ORDERS)
    with pytest.raises(StoreRefusal):
        keys().open(other.access_key_id, issued.token)


def test_names_of_any_length_fit_into_a_token() -> None:
    long = replace(ORDERS, share="ä" * 255, schema="日" * 255, name="x" * 255)
    assert len(keys().issue(ACME, long).token) < LONGEST_TOKEN
