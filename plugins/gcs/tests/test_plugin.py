from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

from sluicegate_gcs import plugin


def test_the_entry_point_registers_the_storage_type() -> None:
    (found,) = entry_points(group="sluicegate", name="gcs")

    (storage,) = found.load().sluicegate_register_storage()

    assert found.load() is plugin
    assert (storage.name, storage.schemes) == ("gcs", ("gs", "gcs"))


def test_the_plugin_loads_no_sdk_until_it_needs_one() -> None:
    heavy = {"google.auth", "requests", "cryptography", "obstore"}
    code = f"import sys, sluicegate_gcs.plugin; print(sorted({heavy!r} & sys.modules.keys()))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


_PRELOADED = """
import sys
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage

GCSStorage(GCSConfig(prefix="gs://lake/")).preload()
print(sorted({"google.auth", "obstore.store", "requests"} & sys.modules.keys()))
"""


def test_preloading_imports_what_credentials_need() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", _PRELOADED], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.strip() == "['google.auth', 'obstore.store', 'requests']"
