"""`sluicegate limits`, as operators run it."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.gateways.gateway import write_configuration

from sluicegate.access.limits.daily_use import Amount
from sluicegate.access.limits.rows import add_use
from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.main import run
from sluicegate.database import Store

RECIPIENTS = {
    "acme": {"limits": {"files_per_day": 100, "bytes_per_day": "2GB", "concurrent_requests": 4}},
    "free": {"limits": {"requests_per_minute": "unlimited"}},
    "Rival": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with recipients, one of which was offered files today and in 2024."""
    folder = tmp_path_factory.mktemp("limits")
    settings = {"limits": {"recipient": {"requests_per_minute": 60, "burst": 1200}}}
    write_configuration(folder, settings, {"recipients": RECIPIENTS})
    asyncio.run(_use(folder))
    return folder


async def _use(folder: Path) -> None:
    store = await Store.open(f"sqlite:///{folder}/sluicegate.db")
    acme = (await Recipients(store, token_lifetime=1, rotation_grace=0).list())[0]
    today = (datetime.now(UTC).date() - datetime(1970, 1, 1).date()).days
    async with store.append() as connection:
        await add_use(connection, {(acme.id, today): Amount(7, 1_500), (acme.id, 20_000): Amount(1, 2)})
    await store.aclose()


def test_limits_and_todays_use_are_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(["limits"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(" {2,}", line) for line in lines] == [
        ["RECIPIENT", "REQUESTS/MIN", "BURST", "CONCURRENT", "FILES", "BYTES"],
        ["acme", "60", "1,200", "4", "7 of 100", "1,500 of 2,000,000,000"],
        ["free", "unlimited", "-", "100", "unlimited", "unlimited"],
        ["Rival", "60", "1,200", "100", "unlimited", "unlimited"],
    ]


def test_another_day_of_one_recipient_is_shown_as_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(["limits", "--recipient", "ACME", "--day", "2024-10-04", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "recipient": "acme",
            "limits": {
                "requests_per_minute": 60,
                "burst": 1200,
                "concurrent_requests": 4,
                "files_per_day": 100,
                "bytes_per_day": 2_000_000_000,
            },
            "day": "2024-10-04",
            "files": 1,
            "bytes": 2,
        }
    ]


def test_an_unknown_recipient_is_an_error_with_the_nearest_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(["limits", "--recipient", "acmee"]) == 1
    assert "there is no recipient 'acmee'; did you mean 'acme'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"files_per_dy": 1}, "files_per_day"),
        ({"files_per_day": 0}, "greater than or equal to 1"),
        ({"requests_per_minute": "none"}, "unlimited"),
        ({"bytes_per_day": "2 parsecs"}, "size"),
    ],
)
def test_a_wrong_limit_in_the_shares_file_is_refused_with_its_place(
    tmp_path: Path, limits: dict[str, object], message: str
) -> None:
    file = tmp_path / "shares.yaml"
    file.write_text(json.dumps({"recipients": {"acme": {"limits": limits}}}))
    with pytest.raises(ConfigurationError, match=message) as refusal:
        read_shares_file(file, set())
    assert "shares.yaml:1:" in refusal.value.message
