"""A gateway is ready once the first query has nothing to load, and never if something is missing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.gateways.starting_gateway import HELD_UP, QUERY, StartingGateway, starting_gateway

_BROKEN = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise ModuleNotFoundError("hidden by the test", name=name)

sys.meta_path.insert(0, Missing())
"""

# As if Arrow imported a module in a function that queries call.
_BROKEN_FUNCTION = """
import pyarrow.compute

def array_sort_indices(*arguments, **options):
    raise ModuleNotFoundError("hidden by the test", name="{module}")

pyarrow.compute.array_sort_indices = array_sort_indices
"""


def _health(gateway: StartingGateway) -> dict[str, int]:
    return {path: gateway.http.get(path).status_code for path in ("/livez", "/readyz", "/healthz")}


def _ended(gateway: StartingGateway) -> tuple[int, str]:
    code = gateway.process.wait(timeout=60)
    return code, gateway.log.read_text()


def test_the_gateway_is_alive_but_not_ready_while_it_loads(tmp_path: Path) -> None:
    with starting_gateway(tmp_path, {"sitecustomize.py": HELD_UP}) as gateway:
        gateway.wait_until_loading()
        assert _health(gateway) == {"/livez": 200, "/readyz": 503, "/healthz": 503}
        starting = gateway.http.get("/readyz")
        listed = gateway.http.get("/delta-sharing/shares")
        assert "serving" not in gateway.log.read_text()
        gateway.let_load()
        gateway.wait_until_ready()
        assert _health(gateway) == {"/livez": 200, "/readyz": 200, "/healthz": 200}
    assert int(starting.headers["retry-after"]) > 0
    assert "starting" in starting.json()["message"]
    assert listed.status_code == 200


def test_a_query_before_the_gateway_is_ready_waits_for_what_it_needs(tmp_path: Path) -> None:
    with starting_gateway(tmp_path, {"sitecustomize.py": HELD_UP}) as gateway:
        gateway.wait_until_loading()
        gateway.let_load()
        assert gateway.http.post(QUERY, json={}).status_code == 200


def test_a_signal_during_the_start_ends_the_gateway(tmp_path: Path) -> None:
    with starting_gateway(tmp_path, {"sitecustomize.py": HELD_UP}) as gateway:
        gateway.wait_until_loading()
        gateway.process.send_signal(signal.SIGTERM)
        gateway.let_load()
        code, log = _ended(gateway)
    assert code == 0, log
    assert "serving" not in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("code", "module", "purpose"),
    [
        (_BROKEN, "pyarrow", "load what queries need"),
        (_BROKEN, "pyarrow.parquet", "load what queries need"),
        (_BROKEN_FUNCTION, "pyarrow.acero", "execute queries"),
    ],
)
def test_a_missing_module_ends_the_start(tmp_path: Path, code: str, module: str, purpose: str) -> None:
    with starting_gateway(tmp_path, {"sitecustomize.py": code.format(module=module)}) as gateway:
        exit_code, log = _ended(gateway)
    assert exit_code == 1, log
    assert f"error: the gateway cannot {purpose}: ModuleNotFoundError for the module" in log
    assert f"module {module}\n" in log
    assert "serving" not in log
    assert "Traceback" not in log
