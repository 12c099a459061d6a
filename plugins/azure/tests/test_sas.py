from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.storage.blob import (
    BlobClient,
    UserDelegationKey,
    _shared_access_signature,
    generate_blob_sas,
    generate_container_sas,
)
from azure.storage.filedatalake import generate_directory_sas
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate_azure.identity import signing_key
from sluicegate_azure.sas import VERSION, SasSigner, SigningKey
from sluicegate_testing.object_names import NAMES_TO_SIGN

END = 1_767_225_599  # the last second of 2025
EXPIRY = datetime.fromtimestamp(END, UTC)
ACCOUNT, CONTAINER = "acmelake", "lake"
BASE = f"https://{ACCOUNT}.blob.core.windows.net/{CONTAINER}/"
ACCOUNT_KEY = base64.b64encode(b"key of an account, with + and /!" * 2).decode()
LONG_KEY = base64.b64encode(b"a key longer than a block of SHA-256" * 2).decode()
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def delegation_key(value: str = ACCOUNT_KEY) -> UserDelegationKey:
    key = UserDelegationKey()  # type: ignore[no-untyped-call]  # it is
    key.signed_oid = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
    key.signed_tid = "72f988bf-86f1-41af-91ab-2d7cd011db47"
    key.signed_start = "2025-12-31T00:00:00Z"
    key.signed_expiry = "2026-01-01T00:00:00Z"
    key.signed_service = "b"
    key.signed_version = "2026-10-06"
    key.value = value
    return key


# The arguments of azure-storage-blob, and the same key in the plugin's form.
SDK_AND_OURS: list[tuple[dict[str, Any], SigningKey]] = [
    ({"account_key": ACCOUNT_KEY}, SigningKey(base64.b64decode(ACCOUNT_KEY))),
    ({"account_key": LONG_KEY}, SigningKey(base64.b64decode(LONG_KEY))),
    ({"user_delegation_key": delegation_key()}, signing_key(delegation_key())),
]
every_key = pytest.mark.parametrize(
    ("theirs", "ours"), SDK_AND_OURS, ids=["account", "long", "delegation"]
)
either_protocol = pytest.mark.parametrize("https_only", [True, False])


@pytest.fixture(autouse=True)
def same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library signs with its newest version. The string to sign hasn't changed since ours."""
    monkeypatch.setattr(_shared_access_signature, "X_MS_VERSION", VERSION)


def signed_by_sdk(name: str, key: dict[str, Any], *, https_only: bool) -> str:
    token = generate_blob_sas(
        ACCOUNT,
        CONTAINER,
        name,
        permission="r",
        expiry=EXPIRY,
        protocol="https" if https_only else None,
        **key,
    )
    client = BlobClient(f"https://{ACCOUNT}.blob.core.windows.net", CONTAINER, name)
    return f"{client.url}?{token}"


@pytest.mark.parametrize("name", NAMES_TO_SIGN)
@every_key
@either_protocol
def test_a_url_equals_the_librarys_byte_for_byte(
    name: str, theirs: dict[str, Any], ours: SigningKey, https_only: bool
) -> None:
    signer = SasSigner(ACCOUNT, CONTAINER, ours, https_only=https_only)

    (url,) = signer.sign_blobs(BASE, [name], END)

    assert url == signed_by_sdk(name, theirs, https_only=https_only)


@given(names=st.lists(NAMES, max_size=5), key=st.sampled_from(SDK_AND_OURS))
@settings(deadline=None)
def test_any_names_are_signed_as_the_library_signs_them(
    names: list[str], key: tuple[dict[str, Any], SigningKey]
) -> None:
    theirs, ours = key
    urls = SasSigner(ACCOUNT, CONTAINER, ours, https_only=True).sign_blobs(BASE, names, END)

    assert urls == [signed_by_sdk(name, theirs, https_only=True) for name in names]


def test_a_batch_keeps_its_order() -> None:
    theirs, ours = SDK_AND_OURS[2]
    urls = SasSigner(ACCOUNT, CONTAINER, ours, https_only=True).sign_blobs(BASE, NAMES_TO_SIGN, END)

    assert urls == [signed_by_sdk(name, theirs, https_only=True) for name in NAMES_TO_SIGN]


@pytest.mark.parametrize("permissions", ["rl", "rle"])
@every_key
@either_protocol
def test_a_container_token_equals_the_librarys(
    permissions: str, theirs: dict[str, Any], ours: SigningKey, https_only: bool
) -> None:
    token = SasSigner(ACCOUNT, CONTAINER, ours, https_only=https_only).container_token(permissions, END)

    assert token == generate_container_sas(
        ACCOUNT,
        CONTAINER,
        permission=permissions,
        expiry=EXPIRY,
        protocol="https" if https_only else None,
        **theirs,
    )


@pytest.mark.parametrize("directory", ["orders", "sales/eu/orders", "a b/ü+%/日本語", "date=2024/x&y"])
@every_key
@either_protocol
def test_a_directory_token_equals_the_data_lake_librarys(
    directory: str, theirs: dict[str, Any], ours: SigningKey, https_only: bool
) -> None:
    token = SasSigner(ACCOUNT, CONTAINER, ours, https_only=https_only).directory_token(
        directory, "rle", END
    )

    assert token == generate_directory_sas(
        ACCOUNT,
        CONTAINER,
        directory,
        next(iter(theirs.values())),
        permission="rle",
        expiry=EXPIRY,
        protocol="https" if https_only else None,
    )
