import pytest

from sluicegate.api.delegation.tasks import TaskFailed
from sluicegate.config import Settings
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.signing.keyring import KeyRing

OLD, NEW = b"an old key", b"a new key"
SECRETS = {"config": {"s3.secret-access-key": "hunter2"}, "metadata": {"format-version": 2}}


def cipher(*keys: bytes) -> PayloadCipher:
    return PayloadCipher(KeyRing(keys))


def test_what_was_encrypted_can_be_decrypted() -> None:
    assert cipher(NEW).decrypt(cipher(NEW).encrypt(SECRETS)) == SECRETS


def test_the_stored_value_shows_no_secret() -> None:
    assert b"hunter2" not in cipher(NEW).encrypt(SECRETS)


def test_equal_values_are_encrypted_differently() -> None:
    assert cipher(NEW).encrypt(SECRETS) != cipher(NEW).encrypt(SECRETS)


def test_a_replaced_key_still_decrypts_while_it_is_configured() -> None:
    assert cipher(NEW, OLD).decrypt(cipher(OLD).encrypt(SECRETS)) == SECRETS


def test_the_newest_key_encrypts() -> None:
    assert cipher(NEW).decrypt(cipher(NEW, OLD).encrypt(SECRETS)) == SECRETS


@pytest.mark.parametrize("damage", [lambda text: text[:-4], lambda text: b"", lambda text: b"\0" * 80])
def test_damaged_values_fail_the_task_and_can_be_retried(damage: object) -> None:
    assert callable(damage)
    with pytest.raises(TaskFailed) as failed:
        cipher(NEW).decrypt(damage(cipher(NEW).encrypt(SECRETS)))
    assert failed.value.retryable


def test_a_removed_key_fails_the_task_and_can_be_configured_again() -> None:
    with pytest.raises(TaskFailed, match="key that is no longer configured") as failed:
        cipher(NEW).decrypt(cipher(OLD).encrypt(SECRETS))
    assert failed.value.retryable
    assert failed.value.error_code == "INTERNAL_ERROR"


def test_the_configured_encryption_keys_are_used() -> None:
    keys = ["k" * 43, "o" * 43]
    configured = Settings.model_validate({"delegation": {"encryption_keys": keys}})
    assert cipher(b"k" * 43).decrypt(PayloadCipher.of(configured).encrypt(SECRETS)) == SECRETS
    assert PayloadCipher.of(configured).decrypt(cipher(b"o" * 43).encrypt(SECRETS)) == SECRETS


def test_without_encryption_keys_the_signing_keys_are_used() -> None:
    key = "s" * 43
    signing = Settings.model_validate({"signing_key": key})
    decrypted = PayloadCipher.of(signing).decrypt(PayloadCipher.of(signing).encrypt(SECRETS))
    assert decrypted == SECRETS
