from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

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
