from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_unity import plugin
from sluicegate_unity.config import UnityConfig

URI = "https://unity.example.com"
CLIENT = {"token_uri": f"{URI}/token", "client_id": "gate", "client_secret": "s3cret"}


@pytest.mark.parametrize(
    ("written", "api"),
    [
        (URI, f"{URI}/api/2.1/unity-catalog"),
        (f"{URI}/", f"{URI}/api/2.1/unity-catalog"),
        (f"{URI}/api/2.1/unity-catalog/", f"{URI}/api/2.1/unity-catalog"),
        ("http://[::1]:8080/uc", "http://[::1]:8080/uc/api/2.1/unity-catalog"),
    ],
)
def test_the_address_is_the_servers(written: str, api: str) -> None:
    assert UnityConfig(uri=written).api == api


def test_tokens_are_exchanged_at_the_server_by_default() -> None:
    exchange: dict[str, Any] = {"subject_token": "jwt"}
    config = UnityConfig.model_validate({"uri": URI, "token_exchange": exchange})
    assert config.exchange_uri == f"{URI}/api/1.0/unity-control/auth/tokens"
    exchange["token_uri"] = "https://login.example.com/exchange"
    config = UnityConfig.model_validate({"uri": URI, "token_exchange": exchange})
    assert config.exchange_uri == "https://login.example.com/exchange"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"uri": "unity.example.com"}, "must be a URL"),
        ({"uri": "ftp://unity.example.com"}, "must be a URL"),
        ({"uri": "https://"}, "must be a URL"),
        ({"uri": "https://user@unity.example.com"}, "must contain only"),
        ({"uri": f"{URI}?a=b"}, "must contain only"),
        ({"catalog": "a.b"}, "catalog"),
        ({"catalog": ""}, "catalog"),
        ({"token": ""}, "one word"),
        ({"token": "s3cret token"}, "one word"),
        ({"token": "s3cret\n"}, "one word"),
        ({"token": "s3cret", "oauth2": CLIENT}, "token and oauth2 are mutually exclusive"),
        ({"token_exchange": {}}, "either subject_token or subject_token_file"),
        (
            {"token_exchange": {"subject_token": "s3cret", "subject_token_file": "/x"}},
            "either subject_token or subject_token_file",
        ),
        ({"oauth2": {**CLIENT, "token_uri": "login"}}, "must be a URL"),
        ({"credentials": "mine"}, "credentials"),
        ({"tokens": "s3cret"}, "tokens"),
    ],
)
def test_a_section_that_cannot_work_is_refused_without_its_secrets(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValidationError, match=told) as refused:
        UnityConfig.model_validate({"uri": URI, **changed})
    assert "s3cret" not in str(refused.value)


def test_secrets_are_not_shown() -> None:
    exchange = {"subject_token": "s3cret"}
    for section in ({"token": "s3cret"}, {"oauth2": CLIENT}, {"token_exchange": exchange}):
        assert "s3cret" not in repr(UnityConfig.model_validate({"uri": URI, **section}))


def test_the_entry_point_registers_the_catalog_type() -> None:
    (found,) = entry_points(group="sluicegate", name="unity")
    (kind,) = found.load().sluicegate_register_catalogs()
    assert found.load() is plugin
    assert (kind.name, kind.config) == ("unity", UnityConfig)


def test_the_plugin_loads_nothing_heavy_until_it_needs_it() -> None:
    code = "import sys, sluicegate_unity.plugin; print('aiohttp' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "False"
