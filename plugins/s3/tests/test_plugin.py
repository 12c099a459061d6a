from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from sluicegate_s3 import plugin


def test_the_entry_point_registers_the_storage_type() -> None:
    (found,) = entry_points(group="sluicegate", name="s3")

    (storage,) = found.load().sluicegate_register_storage()

    assert found.load() is plugin
    assert (storage.name, storage.schemes) == ("s3", ("s3", "s3a", "s3n"))


def test_the_plugin_loads_no_sdk_until_it_needs_one() -> None:
    code = (
        "import sys, sluicegate_s3.plugin; print(sorted({'botocore', 'obstore'} & sys.modules.keys()))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


_PRELOADED = """
import sys
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage

config = S3Config(prefix="s3://lake/", region="eu-west-1", **{options})
S3Storage.configured(config, None).preload()
print(sorted({{"botocore.session", "obstore.store"}} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("options", "modules"),
    [
        ({"access_key_id": "AK", "secret_access_key": "SK"}, ["obstore.store"]),
        ({}, ["botocore.session", "obstore.store"]),
    ],
)
def test_preloading_imports_what_the_credentials_need(
    options: dict[str, str], modules: list[str]
) -> None:
    code = _PRELOADED.format(options=options)

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == str(modules)
