from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from sluicegate_r2 import plugin

LAKE = "r2://lake@0123456789abcdef0123456789abcdef"


def test_the_entry_point_registers_the_storage_type() -> None:
    (found,) = entry_points(group="sluicegate", name="r2")

    (storage,) = found.load().sluicegate_register_storage()

    assert found.load() is plugin
    assert (storage.name, storage.schemes) == ("r2", ("r2",))


@pytest.mark.parametrize(
    ("location", "spelled"),
    [
        (f"{LAKE}.r2.cloudflarestorage.com/A/b", f"{LAKE}.r2.cloudflarestorage.com/A/b"),
        (f"{LAKE}.EU.R2.CloudflareStorage.com/A", f"{LAKE}.eu.r2.cloudflarestorage.com/A"),
        (
            "R2://lake@0123456789ABCDEF0123456789abcdef.R2.cloudflarestorage.com/A",
            f"{LAKE}.r2.cloudflarestorage.com/A",
        ),
        ("r2://lake/A", "r2://lake/A"),
        ("s3://lake/A", "s3://lake/A"),
    ],
)
def test_a_location_has_one_spelling(location: str, spelled: str) -> None:
    (storage,) = plugin.sluicegate_register_storage()
    assert storage.canonical is not None

    assert storage.canonical(location) == spelled


def test_the_plugin_loads_nothing_heavy_until_it_needs_it() -> None:
    heavy = {"botocore", "obstore", "jwt", "aiohttp", "cryptography"}
    code = f"import sys, sluicegate_r2.plugin; print(sorted({heavy!r} & sys.modules.keys()))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"
