from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sluicegate_gcs.config import GCSConfig
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
SETTINGS = README[README.index("| setting |") :].split("\n\n")[0]  # only the table


@pytest.mark.parametrize("sample", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_each_sample_is_a_valid_configuration(sample: str, server: FakeGCS) -> None:
    def resolved(value: Any) -> Any:
        """Replace `{env: NAME}` and `{file: PATH}`, as the gateway does."""
        return server.service_account_key if isinstance(value, dict) else value

    for entry in YAML(typ="safe").load(sample)["storage"]:
        assert entry.pop("type") == "gcs"
        GCSConfig.model_validate({name: resolved(value) for name, value in entry.items()})


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = [line.split("|")[1] for line in SETTINGS.splitlines() if line.startswith("| `")]

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(GCSConfig.model_fields)
