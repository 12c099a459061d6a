from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.signing.keyring import derive, hkdf_sha256
from sluicegate.signing.load import load_keys, load_signing_key

KEY = "k" * 32


def settings(folder: Path) -> Settings:
    return Settings(database=SecretStr(f"sqlite:///{folder}/gateway.db"))


@pytest.mark.parametrize(
    ("key", "salt", "info", "length", "expected"),
    [
        (
            "0b" * 22, "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9", 42,
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            bytes(range(80)).hex(), bytes(range(96, 176)).hex(), bytes(range(176, 256)).hex(), 82,
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e59"
            "0e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            "0b" * 22, "", "", 42,
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
    ids=["A.1", "A.2", "A.3"],
)  # fmt: skip
def test_hkdf_agrees_with_rfc_5869(key: str, salt: str, info: str, length: int, expected: str) -> None:
    derived = hkdf_sha256(
        bytes.fromhex(key), salt=bytes.fromhex(salt), info=bytes.fromhex(info), length=length
    )
    assert derived.hex() == expected


def test_each_purpose_has_a_key_of_its_own() -> None:
    keys = {derive(KEY.encode(), purpose) for purpose in ("page tokens", "content links", "")}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}
    assert derive(KEY.encode(), "a") == derive(KEY.encode(), "a")
    assert derive(KEY.encode(), "a") != derive(b"other" * 8, "a")


def test_a_configured_key_is_used_and_no_file_made(tmp_path: Path) -> None:
    configured = settings(tmp_path).model_copy(update={"signing_key": SecretStr(KEY)})
    assert load_signing_key(configured) == KEY.encode()
    assert list(tmp_path.iterdir()) == []


def test_previous_keys_come_after_the_one_that_signs_and_are_never_shown(tmp_path: Path) -> None:
    update = {"signing_key": SecretStr(KEY), "previous_signing_keys": (SecretStr("p" * 32),)}
    keys = load_keys(settings(tmp_path).model_copy(update=update))
    assert keys.keys == (KEY.encode(), b"p" * 32)
    assert keys.signing == KEY.encode()
    assert keys.derive("a").keys == (derive(KEY.encode(), "a"), derive(b"p" * 32, "a"))
    assert KEY not in repr(keys)


def test_without_one_a_private_file_is_made_beside_the_database_and_kept(tmp_path: Path) -> None:
    key = load_signing_key(settings(tmp_path))
    (file,) = tmp_path.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("gateway.key", 0o600)
    assert len(key) == 64
    assert load_signing_key(settings(tmp_path)) == key


def test_starts_at_the_same_time_agree_on_one_key(tmp_path: Path) -> None:
    keys: set[bytes] = set()
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        keys.add(load_signing_key(settings(tmp_path)))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["gateway.key"]


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        ("k" * 64, 0o644, "is readable by all users: chmod 600"),
        ("", 0o600, "is too short: delete the file"),
    ],
)
def test_an_unsafe_key_file_is_refused(tmp_path: Path, content: str, mode: int, expected: str) -> None:
    (tmp_path / "gateway.key").write_text(content)
    (tmp_path / "gateway.key").chmod(mode)
    with pytest.raises(ConfigurationError, match=expected):
        load_signing_key(settings(tmp_path))


def test_an_unusable_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gateway.key").mkdir(mode=0o700)
    with pytest.raises(ConfigurationError, match="cannot be used: Is a directory"):
        load_signing_key(settings(tmp_path))


def test_postgresql_needs_a_configured_key() -> None:
    with pytest.raises(
        ConfigurationError, match="'signing_key' must be set, the same on every replica"
    ):
        load_signing_key(Settings(database=SecretStr("postgresql://db/sluicegate")))
