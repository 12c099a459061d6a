from __future__ import annotations

import json
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluicegate.api import SecretStr, StorageError
from sluicegate_s3.aws import BotocoreThreads, DefaultChain
from sluicegate_s3.credentials import Credentials, CredentialSource, StaticKey, fresh_credentials
from sluicegate_s3.sts import AssumedRole, Role, TokenService
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS


class Rotated(CredentialSource):
    """A source that returns another key each time, without an expiry."""

    def __init__(self) -> None:
        self.given = 0

    async def load(self) -> Credentials:
        self.given += 1
        return Credentials(f"key-{self.given}", "secret")


@pytest.mark.parametrize(("seconds_later", "key"), [(299, "key-1"), (300, "key-2")])
async def test_rotated_keys_are_followed_within_five_minutes(seconds_later: int, key: str) -> None:
    now = 1_000_000.0
    fresh = fresh_credentials(Rotated(), lambda: now)
    await fresh.get()

    now += seconds_later

    assert (await fresh.get()).access_key_id == key


def test_credentials_show_no_secret() -> None:
    assert "hush" not in repr(Credentials("AKIAEXAMPLE", "hush-secret", "hush-token"))


async def test_the_chain_reads_the_environment(
    no_ambient_credentials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")

    found = await DefaultChain(BotocoreThreads()).load()

    assert found == Credentials("AKIAEXAMPLE", "hush", "token")


async def test_the_chain_reads_a_named_profile(no_ambient_credentials: Path) -> None:
    (no_ambient_credentials / "credentials").write_text(
        "[other]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = hush\n"
    )

    found = await DefaultChain(BotocoreThreads(), "other").load()

    assert found == Credentials("AKIAOTHER", "hush")


async def test_the_chain_records_when_a_session_ends(no_ambient_credentials: Path) -> None:
    end = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    answer = {
        "Version": 1,
        "AccessKeyId": "ASIAEXAMPLE",
        "SecretAccessKey": "hush",
        "SessionToken": "token",
        "Expiration": end.isoformat(),
    }
    script = no_ambient_credentials / "process.py"
    script.write_text(f"print({json.dumps(answer)!r})")
    (no_ambient_credentials / "config").write_text(
        f"[profile tool]\ncredential_process = {sys.executable} {script}\n"
    )

    found = await DefaultChain(BotocoreThreads(), "tool").load()

    assert found == Credentials("ASIAEXAMPLE", "hush", "token", int(end.timestamp() * 1000))


@pytest.mark.parametrize(
    ("profile", "hint"), [(None, "set access_key_id"), ("missing", "profile (missing)")]
)
async def test_an_empty_chain_says_what_to_set(
    no_ambient_credentials: Path, profile: str | None, hint: str
) -> None:
    with pytest.raises(StorageError) as refused:
        await DefaultChain(BotocoreThreads(), profile).load()

    assert hint in str(refused.value.detail)


def role_of(server: SeaweedFS, identity: Identity, endpoint: str | None = None) -> AssumedRole:
    key = StaticKey(identity.access_key_id, SecretStr(identity.secret_access_key), None)
    service = TokenService(BotocoreThreads(), server.region, endpoint or server.endpoint)
    role = Role(arn=server.role_arn, session_name="a-test", duration=900)
    return AssumedRole(service, role, fresh_credentials(key))


async def test_a_role_gives_sessions_of_the_wanted_length(server: SeaweedFS) -> None:
    before = datetime.now(UTC).timestamp()

    session = await role_of(server, server.signer).load()

    assert session.session_token
    assert session.expires_at is not None
    assert 890 < session.expires_at / 1000 - before < 910


async def test_a_refused_role_is_an_error_without_upstream_words(server: SeaweedFS) -> None:
    with pytest.raises(StorageError) as refused:
        await role_of(server, server.nobody).load()

    assert "AssumeRole" in str(refused.value.detail)
    assert "AssumeRole" not in refused.value.message
    assert server.nobody.secret_access_key not in f"{refused.value} {refused.value.detail}"


async def test_a_dead_token_service_is_an_error(server: SeaweedFS) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening, so that connections are refused
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(StorageError, match="does not respond"):
            await role_of(server, server.signer, endpoint).load()
