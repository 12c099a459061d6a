from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_cedar.config import CedarConfig


@pytest.mark.parametrize("settings", [{}, {"policy_files": []}, {"policy_files": ["x"], "schema": "y"}])
def test_a_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CedarConfig(**settings)
