"""Insides of other distributions that the code uses exist in the installed versions.

They can move in any version, so the requirement of their distribution has an upper bound. To raise it,
change it and `constraints.txt`, and run these tests first. `tests/spark/test_insides.py` tests PySpark.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support.names.insides import Inside
from support.process.docs import ROOT

_HTTP = "gateway/sluicegate/http"
_CORE = "gateway/sluicegate"
_AWS = "plugins/s3/src/sluicegate_s3/aws.py"
_HTTPTOOLS = "uvicorn.protocols.http.httptools_impl"
INSIDES = [
    Inside(
        "uvicorn", f"{_HTTP}/serving.py", "uvicorn.config", "SSL_PROTOCOL_VERSION create_ssl_context"
    ),
    Inside("uvicorn", f"{_HTTP}/serving.py", "uvicorn.config:Config", "load ssl"),
    Inside(
        "uvicorn",
        f"{_HTTP}/serving.py",
        "uvicorn.server:Server",
        "_serve config force_exit handle_exit on_tick server_state servers should_exit shutdown "
        "started startup",
    ),
    Inside("uvicorn", f"{_HTTP}/serving.py", "uvicorn.server:ServerState", "connections"),
    Inside(
        "uvicorn",
        f"{_HTTP}/protocol.py",
        f"{_HTTPTOOLS}:HttpToolsProtocol",
        "_start_asgi_task client connection_lost connection_made cycle data_received "
        "expect_100_continue flow headers on_body on_header on_headers_complete on_message_begin "
        "on_message_complete on_response_complete on_url pipeline scope send_400_response shutdown "
        "transport url",
    ),
    Inside(
        "uvicorn",
        f"{_HTTP}/protocol.py",
        "uvicorn.protocols.http.flow_control:FlowControl",
        "read_paused resume_reading write_paused",
    ),
    Inside(
        "uvicorn",
        f"{_HTTP}/protocol.py",
        f"{_HTTPTOOLS}:RequestResponseCycle",
        "disconnected keep_alive message_event more_body response_complete response_started",
    ),
    Inside(
        "uvicorn",
        f"{_HTTP}/joined_writes.py",
        f"{_HTTPTOOLS}:RequestResponseCycle",
        "chunked_encoding on_response response_started transport",
    ),
    Inside(
        "sqlalchemy",
        f"{_CORE}/database/async_engine.py",
        "sqlalchemy.ext.asyncio.engine",
        "AsyncConnection AsyncEngine create_async_engine",
    ),
    Inside(
        "sqlalchemy",
        f"{_CORE}/database/statements/clock.py",
        "sqlalchemy.sql.functions",
        "FunctionElement",
    ),
    Inside(
        "sqlalchemy", f"{_CORE}/database/statements/clock.py", "sqlalchemy.sql.compiler", "SQLCompiler"
    ),
    Inside(
        "sqlalchemy",
        f"{_CORE}/delegation/queue/statements.py",
        "sqlalchemy.sql.selectable",
        "TypedReturnsRows",
    ),
    Inside(
        "starlette",
        f"{_HTTP}/application.py",
        "starlette.applications:Starlette",
        "build_middleware_stack router",
    ),
    Inside("starlette", f"{_HTTP}/application.py", "starlette.routing:Router", "app routes"),
    Inside(
        "starlette",
        f"{_HTTP}/application.py",
        "starlette.routing:Route",
        "handle matches param_convertors path",
    ),
    Inside("starlette", f"{_CORE}/telemetry/middleware.py", "starlette.routing:Route", "path_format"),
    Inside(
        "starlette",
        f"{_CORE}/protocols/file_links/routes.py",
        "starlette.responses:StreamingResponse",
        "stream_response",
    ),
    Inside("opentelemetry-api", f"{_CORE}/telemetry/metrics.py", "opentelemetry.metrics", "_Gauge"),
    Inside(
        "prometheus-client",
        f"{_CORE}/telemetry/export/prometheus.py",
        "prometheus_client.exposition",
        "choose_encoder",
    ),
    Inside("ruamel.yaml", f"{_CORE}/config/yaml.py", "ruamel.yaml:YAML", "compose constructor"),
    Inside(
        "ruamel.yaml",
        f"{_CORE}/config/yaml.py",
        "ruamel.yaml.constructor:SafeConstructor",
        "construct_document",
    ),
    Inside(
        "ruamel.yaml",
        f"{_CORE}/config/yaml.py",
        "ruamel.yaml.error:MarkedYAMLError",
        "context_mark problem_mark",
    ),
    Inside(
        "ruamel.yaml",
        f"{_CORE}/access/shares_file/export.py",
        "ruamel.yaml.representer:SafeRepresenter",
        "add_representer represent_scalar represent_str",
    ),
    Inside("botocore", _AWS, "botocore.credentials:RefreshableCredentials", "_expiry_time"),
    Inside("botocore", _AWS, "botocore.parsers", "ResponseParserError"),
    Inside("botocore", _AWS, "botocore.session:Session", "get_component"),
]
_PRIVATE_IMPORT = re.compile(
    r"^ *from (?!sluicegate|__future__)(\w+)\S* import .*?\b(_\w+)", re.MULTILINE
)
# Python's own.
_OTHERS = {"hashlib"}


@pytest.mark.parametrize(
    "inside", INSIDES, ids=lambda each: f"{each.owner} in {Path(each.used_by).name}"
)
def test_an_inside_is_where_the_code_uses_it(inside: Inside) -> None:
    assert list(inside.moved()) == []
    source = (ROOT / inside.used_by).read_text(encoding="utf-8")
    assert [name for name in inside.names.split() if not re.search(rf"\b{name}\b", source)] == []


def test_a_distribution_with_insides_has_an_upper_bound() -> None:
    without = []
    for each in {(each.distribution, each.used_by.partition("/src/")[0]) for each in INSIDES}:
        distribution, project = each
        folder = ROOT / project if project.startswith("plugins") else ROOT
        metadata = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = metadata.get("optional-dependencies", {}).values()
        required = [
            Requirement(text) for texts in (metadata["dependencies"], *extras) for text in texts
        ]
        (requirement,) = (each for each in required if each.name == distribution)
        if not any(bound.operator == "<" for bound in requirement.specifier):
            without.append(f"{folder.name}/pyproject.toml: {requirement}")
    assert without == []


def test_each_private_name_that_is_imported_is_listed() -> None:
    listed = {name for each in INSIDES for name in each.names.split()}
    folders = [
        folder
        for pattern in ("gateway", "plugins/*/src", "catalog_adapters/*/src")
        for folder in ROOT.glob(pattern)
        if folder.parent.name != "spark"  # see tests/spark
    ]
    found = {
        (package, name)
        for folder in folders
        for file in folder.rglob("*.py")
        for package, name in _PRIVATE_IMPORT.findall(file.read_text(encoding="utf-8"))
    }
    assert found
    assert {each for each in found if each[0] not in _OTHERS and each[1] not in listed} == set()


@pytest.mark.parametrize(
    ("owner", "name"),
    [("json", "gone"), ("json.gone", "x"), ("json:Gone", "x"), ("json:JSONEncoder", "gone")],
)
def test_what_has_moved_is_named(owner: str, name: str) -> None:
    (line,) = Inside("uvicorn", "module.py", owner, name).moved()
    assert line.startswith("uvicorn 0.")
    assert line.endswith(f" has no {name} in {owner}, which module.py uses")


def test_methods_inherited_ones_and_attributes_of_instances_are_found() -> None:
    names = "encode sort_keys __init__"
    assert list(Inside("uvicorn", "module.py", "json:JSONEncoder", names).moved()) == []
