"""Without a `public_url`, all that names the gateway's address names the port that is served."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from support.gateways.gateway import running_gateway, sluicegate, write_configuration
from support.gateways.shared_lake import ACME

from sluicegate.config import ServerSettings, Settings
from sluicegate.config.served_address import announced, reachable, served_at


def _configure(folder: Path, **settings: Any) -> None:
    write_configuration(folder, settings, {"recipients": {ACME: {"shares": []}}})


def _profile(folder: Path, *options: str) -> dict[str, str]:
    written = sluicegate(folder, "recipient", "rotate", ACME, "--profile", "-", *options)
    profile: dict[str, str] = json.loads(written)
    return profile


def test_profiles_name_a_running_gateway_and_no_other(tmp_path: Path) -> None:
    _configure(tmp_path, server={"port": 9123, "host": "::"})
    with running_gateway(tmp_path, host="127.0.0.1") as gateway:
        profile = _profile(tmp_path)
        assert profile["endpoint"] == gateway.endpoint
        assert profile["icebergEndpoint"] == f"{gateway.address}/iceberg"
        headers = {"Authorization": f"Bearer {profile['bearerToken']}"}
        assert httpx.get(f"{profile['endpoint']}/shares", headers=headers).json() == {"items": []}
        assert _profile(tmp_path, "--oauth")["tokenEndpoint"] == f"{gateway.address}/oauth/token"
        document = httpx.get(f"{gateway.endpoint}/openapi.json").json()
        assert document["servers"] == [{"url": gateway.address}]
        gateway.process.send_signal(signal.SIGKILL)
        gateway.process.wait()
    assert list(tmp_path.glob("*.address"))
    assert _profile(tmp_path)["endpoint"] == "http://[::1]:9123/delta-sharing"


def test_a_port_that_nobody_knows_yet_is_an_error_before_there_is_a_token(tmp_path: Path) -> None:
    _configure(tmp_path, server={"port": 0})
    with pytest.raises(AssertionError, match=r"server\.port 0 leaves open: set public_url"):
        _profile(tmp_path)
    [acme] = json.loads(sluicegate(tmp_path, "recipient", "list", "--json"))
    assert acme["tokens"] == 0


def test_a_configured_address_stays(tmp_path: Path) -> None:
    settings = Settings(public_url="https://share.example.com", server=ServerSettings(port=0))
    assert reachable(settings) is settings
    assert served_at(settings, "127.0.0.1", 9) is settings


def test_an_address_is_kept_as_long_as_its_gateway_runs(tmp_path: Path) -> None:
    settings = Settings(database=SecretStr(f"sqlite:///{tmp_path}/sluicegate.db"))
    with announced(settings, "127.0.0.1", 1111):
        with announced(settings, "127.0.0.1", 2222):
            pass
        assert not list(tmp_path.iterdir())
    with announced(settings, "127.0.0.1", 1111):
        [file] = tmp_path.iterdir()
        file.write_text("http://127.0.0.1:2222")  # another one started since
    assert list(tmp_path.iterdir()) == [file]
