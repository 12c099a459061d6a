"""What importing parts of the gateway brings along, seen from a fresh interpreter."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from functools import cache

import pytest

import sluicegate
from sluicegate import api

# Of `google`, only the cloud's libraries: OTLP's messages are `google.protobuf`.
FORBIDDEN = {
    *("azure", "boto3", "botocore", "google.auth", "google.cloud", "pyiceberg", "pyspark"),
    *("pytest", "sluicegate_testing"),
}
CORE = [
    module.name
    for module in pkgutil.walk_packages(sluicegate.__path__, "sluicegate.")
    if not module.name.startswith(("sluicegate.testing", "sluicegate.database.migrations"))
    and not module.name.endswith(".__main__")
]


API = [
    "sluicegate.api",
    *(
        module.name
        for module in pkgutil.walk_packages(api.__path__, "sluicegate.api.")
        if not module.name.startswith("sluicegate.api.clients")
    ),
]


@cache
def loaded_by(*modules: str) -> frozenset[str]:
    """All modules that are loaded once these are imported."""
    code = (
        "import sys, json, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(json.loads(done.stdout))


def test_a_plugin_gets_no_web_framework_and_no_arrow_with_the_api() -> None:
    heavy = {"starlette", "uvicorn", "pyarrow", "sqlalchemy", "alembic", "click", "ruamel"}
    assert loaded_by(*API) & (heavy | FORBIDDEN) == set()


def test_the_api_loads_nothing_but_pydantic_pluggy_and_what_they_need() -> None:
    names = {module.partition(".")[0] for module in loaded_by(*API)}
    others = {name for name in names - set(sys.stdlib_module_names) if not name.startswith("_")}
    assert others - {"annotated_types", "typing_extensions", "typing_inspection"} == {
        *("pluggy", "pydantic", "pydantic_core", "sluicegate")
    }


def test_the_api_loads_no_other_part_of_the_gateway() -> None:
    own = {name for name in loaded_by(*API) if name.startswith("sluicegate.")}
    assert {name.split(".")[1] for name in own} == {"_util", "api"}


def test_every_name_of_the_api_can_be_imported() -> None:
    assert set(api.__all__) <= set(dir(api))
    for name in api.__all__:
        assert getattr(api, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        assert api.Nothing  # type: ignore[attr-defined]


def test_the_core_imports_no_cloud_sdk_no_spark_no_iceberg_library_and_no_kit() -> None:
    assert len(CORE) > 50
    assert loaded_by(*CORE) & FORBIDDEN == set()


def test_services_without_schedules_load_no_cron_library() -> None:
    loaded = loaded_by("sluicegate.server.serve", "sluicegate.delegation.service", "sluicegate.config")
    assert loaded & {"cronsim", "sluicegate.delegation.schedules.scheduler"} == set()


def test_serving_needs_nothing_that_only_the_demo_and_tests_need() -> None:
    assert (
        loaded_by("sluicegate.server.serve") & {"pytest", "pandas", "deltalake", "delta_sharing"}
        == set()
    )


def test_a_gateway_at_rest_has_not_loaded_arrow() -> None:
    assert (
        loaded_by("sluicegate.server.serve", "sluicegate_s3.plugin") & {"pyarrow", "numpy", "botocore"}
        == set()
    )


def test_the_warm_up_loads_nothing_that_only_rare_requests_need() -> None:
    warm = (
        "sluicegate.server.serve",
        "sluicegate.protocols.delta_sharing.warm_up_queries",
        "sluicegate.protocols.iceberg_rest.by_file.service",
    )
    rare = {
        "fastavro",
        "sluicegate.access.activation.links",
        "sluicegate.access.shares_file.models",
        "jinja2",
        "sluicegate.admin",
        "sluicegate.protocols.openapi.document",
    }
    assert loaded_by(*warm) & rare == set()


def test_serving_loads_what_verifies_web_tokens_only_when_one_comes() -> None:
    assert loaded_by("sluicegate.server.serve") & {"jwt", "cryptography", "aiohttp"} == set()


@pytest.mark.parametrize("module", ["sluicegate_testing.fakes", "sluicegate_testing.shape"])
def test_the_kit_brings_no_part_of_a_running_gateway(module: str) -> None:
    assert loaded_by(module) & {"starlette", "uvicorn", "sqlalchemy", "pyarrow"} == set()
