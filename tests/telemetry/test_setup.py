"""Off is off; on needs the extra; a wrong endpoint is refused."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from support.servers.telemetry import SECRET

from sluicegate.api.errors import ConfigurationError
from sluicegate.telemetry import count, span
from sluicegate.telemetry.setup import configure


def python(code: str) -> str:
    """What a fresh interpreter writes.

    Providers can be installed once in a process, and a collector that is down leaves threads behind.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def test_off_installs_no_provider_starts_no_thread_and_imports_no_sdk() -> None:
    assert (
        python("""
import sys, threading
from sluicegate.telemetry import count, span
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.telemetry.setup import configure
shutdown = configure(log_format="json")
with span("step", files=3) as step:
    step.set_attribute("more", 1)
count("sluicegate.files.signed", 3)
from opentelemetry import metrics, trace
print(type(trace.get_tracer_provider()).__name__, type(metrics.get_meter_provider()).__name__)
print(threading.active_count(), [name for name in sys.modules if name.startswith("opentelemetry.sdk")])
shutdown()
""")
        == "ProxyTracerProvider _ProxyMeterProvider\n1 []"
    )


def test_on_installs_providers_that_plugins_find() -> None:
    assert (
        python("""
from opentelemetry import metrics, trace
from sluicegate.telemetry.export import providers
from sluicegate.telemetry.setup import configure
providers.FLUSH_SECONDS = 0.01
shutdown = configure(otlp_endpoint="http://127.0.0.1:9", log_level="error")
print(type(trace.get_tracer_provider()).__module__, type(metrics.get_meter_provider()).__module__)
shutdown()
""")
        == "opentelemetry.sdk.trace opentelemetry.sdk.metrics._internal"
    )


def test_providers_that_somebody_installed_before_stay() -> None:
    assert (
        python("""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from sluicegate.telemetry.export import providers
from sluicegate.telemetry.setup import configure
providers.FLUSH_SECONDS = 0.01
mine = TracerProvider()
trace.set_tracer_provider(mine)
shutdown = configure(otlp_endpoint="http://127.0.0.1:9", log_level="error")
print(trace.get_tracer_provider() is mine)
shutdown()
""")
        == "True"
    )


def test_on_without_the_extra_says_what_to_install() -> None:
    assert python("""
import sys
sys.modules["opentelemetry.sdk"] = None
from sluicegate.api.errors import ConfigurationError
from sluicegate.telemetry.setup import configure
try:
    configure(otlp_endpoint="http://127.0.0.1:4318")
except ConfigurationError as error:
    print(error)
""").endswith("pip install 'sluicegate[otel]', or remove otlp_endpoint")


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "collector:4318",
        "127.0.0.1",
        "grpc://collector:4317",
        "http://",
        "http://c/?token=zq8Wm2",
        "http://c:x",
    ],
)
def test_an_endpoint_that_is_no_base_url_is_refused_without_repeating_it(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="otlp_endpoint is not the base URL") as refusal:
        configure(otlp_endpoint=endpoint)
    assert "zq8Wm2" not in str(refusal.value)


def test_off_a_step_makes_nothing() -> None:
    count("sluicegate.snapshots", outcome="cached")
    assert span("resolve", catalog="lake") is span("sign", files=3)


def test_a_collector_that_is_down_is_logged_and_delays_nobody() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening: connections are refused
        written = python(f"""
from sluicegate.telemetry import span
from sluicegate.telemetry.export import providers
from sluicegate.telemetry.setup import configure
providers.FLUSH_SECONDS = 1.0
shutdown = configure(otlp_endpoint="http://user:{SECRET}@127.0.0.1:{taken.getsockname()[1]}")
with span("step"):
    pass
shutdown()
""")
    assert "opentelemetry.exporter" in written
    assert "Traceback" not in written
    assert SECRET not in written
