from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from sluicegate_azure import plugin


def test_the_entry_point_registers_the_storage_type() -> None:
    (found,) = entry_points(group="sluicegate", name="azure")

    (storage,) = found.load().sluicegate_register_storage()

    assert found.load() is plugin
    assert (storage.name, storage.schemes) == ("azure", ("abfss", "abfs", "wasbs", "wasb"))


def test_the_plugin_loads_no_sdk_until_it_needs_one() -> None:
    code = (
        "import sys, sluicegate_azure.plugin; print(sorted({'azure', 'obstore'} & sys.modules.keys()))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


_PRELOADED = """
import sys
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage

config = AzureConfig(prefix="abfss://lake@acme.dfs.core.windows.net/", **{options})
AzureStorage.configured(config, None).preload()
print(sorted({{"azure.identity", "azure.storage.blob", "obstore.store"}} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("options", "modules"),
    [
        ({"account_key": "a2V5"}, ["obstore.store"]),
        ({}, ["azure.identity", "azure.storage.blob", "obstore.store"]),
    ],
)
def test_preloading_imports_what_the_credentials_need(
    options: dict[str, str], modules: list[str]
) -> None:
    code = _PRELOADED.format(options=options)

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == str(modules)
