"""Secrets that are rotated while the gateway runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from sluicegate.api import RotatableSecret, current_secret
from sluicegate.api.clients.configured_secret import CurrentSecret
from sluicegate.config.references import resolve_references
from sluicegate.config.yaml import parse_document

OLD, NEW = "the-old-token", "the-new-token"


class Section(BaseModel):
    token: RotatableSecret


def configured(reference: str, folder: Path) -> SecretStr:
    """The secret of a section whose token is a reference."""
    source = resolve_references(parse_document(f"token: {reference}", folder / "gateway.yaml"))
    return Section.model_validate(source.values).token


def replace(file: Path, content: bytes | None) -> None:
    """Put another file in the place of one, or none."""
    if content is None:
        file.unlink()
        return
    other = file.with_suffix(".new")
    other.write_bytes(content)
    other.replace(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{OLD}\n")
    return path


async def test_a_changed_file_is_read_again_after_a_second(file: Path) -> None:
    now = 0.0
    secret = CurrentSecret(configured("{file: token}", file.parent), clock=lambda: now)
    assert await secret.get() == OLD
    replace(file, NEW.encode())
    now = 0.9
    assert await secret.get() == OLD
    now = 1.0
    assert await secret.get() == NEW


async def test_a_refused_secret_is_read_again_at_once(file: Path) -> None:
    secret = CurrentSecret(configured("{file: token}", file.parent), clock=lambda: 0.0)
    assert await secret.get() == OLD
    replace(file, NEW.encode())
    assert await secret.instead_of(OLD) == NEW
    assert await secret.get() == NEW


async def test_a_refused_variable_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UC_TOKEN", OLD)
    configured_secret = configured("{env: UC_TOKEN}", tmp_path)
    secret = CurrentSecret(configured_secret)
    monkeypatch.setenv("UC_TOKEN", NEW)
    assert await secret.get() == OLD
    assert await secret.instead_of(OLD) == NEW
    assert await current_secret(configured_secret) == NEW


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
async def test_the_last_value_is_kept_while_the_file_has_none(
    file: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    secret = CurrentSecret(configured("{file: token}", file.parent), clock=lambda: now)
    assert await secret.get() == OLD
    replace(file, content)
    now = 2.0
    assert await secret.get() == OLD
    assert await secret.instead_of(OLD) == OLD
    assert str(file) in caplog.text
    assert OLD not in caplog.text


async def test_a_value_of_the_wrong_form_is_not_used(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = CurrentSecret(configured("{file: token}", file.parent), str.isascii)
    replace(file, "ünusable".encode())
    assert await secret.get() == OLD
    assert "ünusable" not in caplog.text


async def test_a_secret_of_the_configuration_itself_stays_as_it_is() -> None:
    secret = CurrentSecret(SecretStr(OLD))
    assert (await secret.get(), await secret.instead_of(OLD)) == (OLD, OLD)
    assert await current_secret(SecretStr(OLD)) == OLD


def test_a_referenced_secret_is_hidden(file: Path) -> None:
    secret = configured("{file: token}", file.parent)
    assert OLD not in f"{secret!r} {secret} {Section(token=secret)!r}"
