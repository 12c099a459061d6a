"""Profile files: what they say, who may read them, and that none is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from delta_sharing.protocol import DeltaSharingProfile

from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.profile import new_profile_file, profile_text
from sluicegate.api.errors import ConfigurationError


@pytest.mark.parametrize("public_url", ["https://share.example.com", "https://share.example.com/"])
def test_a_profile_is_a_version_1_profile(public_url: str) -> None:
    text = profile_text(IssuedCredential("acme", "slg_x", 1_800_000_000_007), public_url)
    assert json.loads(text) == {
        "shareCredentialsVersion": 1,
        "endpoint": "https://share.example.com/delta-sharing",
        "icebergEndpoint": "https://share.example.com/iceberg",
        "bearerToken": "slg_x",
        "expirationTime": "2027-01-15T08:00:00.007Z",
    }


@pytest.mark.parametrize("public_url", ["https://share.example.com", "https://share.example.com/"])
def test_a_clients_profile_is_a_version_2_profile(public_url: str) -> None:
    text = profile_text(IssuedCredential("acme", "slgs_x", 1_800_000_000_007, "an-id"), public_url)
    assert json.loads(text) == {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "endpoint": "https://share.example.com/delta-sharing",
        "tokenEndpoint": "https://share.example.com/oauth/token",
        "clientId": "an-id",
        "clientSecret": "slgs_x",
    }
    read = DeltaSharingProfile.from_json(text)
    assert (read.type, read.client_id, read.client_secret) == (
        "oauth_client_credentials",
        "an-id",
        "slgs_x",
    )


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_its_owner_may_read_the_file(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "acme.share"
    with new_profile_file(path, overwrite=overwrite) as write:
        write(b"secret")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("secret", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_is_only_overwritten_on_request(tmp_path: Path) -> None:
    path = tmp_path / "acme.share"
    path.write_text("old")
    path.chmod(0o644)
    refused = new_profile_file(path, overwrite=False)
    with pytest.raises(ConfigurationError, match="already exists"), refused:
        pass
    with new_profile_file(path, overwrite=True) as write:
        assert path.read_text() == "old"
        write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "acme.share"

    def race() -> None:
        with new_profile_file(path, overwrite=False) as write:
            path.write_text("somebody else's")
            write(b"mine")

    with pytest.raises(ConfigurationError, match="rotate the recipient once more"):
        race()
    assert path.read_text() == "somebody else's"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_refused_before_there_is_a_token(tmp_path: Path) -> None:
    refused = new_profile_file(tmp_path / "absent" / "acme.share", overwrite=False)
    with (
        pytest.raises(ConfigurationError, match=r"acme\.share cannot be written: No such file"),
        refused,
    ):
        pass


def test_nothing_is_left_when_no_token_was_issued(tmp_path: Path) -> None:
    with new_profile_file(tmp_path / "acme.share", overwrite=False):
        pass
    assert list(tmp_path.iterdir()) == []
