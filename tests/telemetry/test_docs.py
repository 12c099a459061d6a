"""The samples of the operators' page are accepted, and its line is that of a request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from support.servers.telemetry import Collector, serving

from sluicegate.config import load_settings
from sluicegate.config.sections.telemetry import PrometheusSettings
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.telemetry.setup import Shutdown, configure

PAGE = (Path(__file__).parents[2] / "docs" / "operators" / "observability.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def documented(title: str) -> set[str]:
    return {
        name
        for cell in re.findall(r"^\| (.*?) \|", section(title), re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", cell)
    }


def test_the_sample_configuration_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(block("yaml"))
    telemetry = load_settings(path).telemetry
    options = telemetry.model_dump(exclude={"otlp_endpoint", "prometheus"})
    configure(**options)()
    assert telemetry.otlp_endpoint == "http://collector:4318"
    assert telemetry.prometheus == PrometheusSettings(host="127.0.0.1", port=9464)


async def test_the_sample_line_is_that_of_a_request(
    app: RequestTelemetry,
    collector: Collector,
    configured: Callable[..., Shutdown],
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutdown = configured(otlp_endpoint=collector.endpoint, log_format="json")
    async with serving(app) as address, httpx.AsyncClient(base_url=address) as client:
        await client.get("/shares/sales")
        await client.get("/stream")
    await asyncio.to_thread(shutdown)
    err = capsys.readouterr().err
    access = [json.loads(line) for line in err.splitlines() if '"recipient"' in line]
    assert list(access[0]) == list(json.loads(block("json")))
    optional = {"client_request_id", "disconnected", "exception"}
    assert documented("Logs") - optional <= set(access[0])
