from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_mtls.config import MtlsConfig


@pytest.mark.parametrize(
    "settings",
    [
        {"identity": "serial"},
        {"identities": "uri"},
        {"issuers": [""]},
        {"recipients": {"": "acme"}},
        {"recipients": {"acme": ""}},
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MtlsConfig(**settings)


def test_by_default_the_common_name_is_the_recipients() -> None:
    assert MtlsConfig().model_dump() == {
        "identity": "common_name",
        "issuers": None,
        "recipients": None,
    }
