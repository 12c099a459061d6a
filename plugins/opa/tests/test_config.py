from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_opa.config import OpaConfig


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "127.0.0.1:8181"},
        {"url": "http://opa.example/v1?x=1"},
        {"url": "http://user@opa.example"},
        {"path": "/sluicegate/allow"},
        {"path": "sluicegate/../x"},
        {"path": "sluicegate/allow\n"},
        {"path": ""},
        {"token": "two words"},
        {"timeout": "10s"},
        {"max_age": "2h"},
        {"max_age": "-1s"},
        {"urls": "http://opa.example"},
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpaConfig.model_validate({"url": "http://opa.example", **settings})


def test_the_url_can_have_a_path_and_a_trailing_slash() -> None:
    config = OpaConfig(url="https://OPA.example:443/opa/")
    assert config.url == "https://opa.example/opa"
