"""A gateway that is killed under load has recorded every response that a client saw."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from support.gateways.folder_site import LISTING, QUERY, Site
from support.gateways.gateway import RunningGateway, running_gateway, sluicegate

# `SLUICEGATE_AUDIT_KILLS=100 pytest tests/audit/trail/test_kill.py` kills more often.
KILLS = int(os.environ.get("SLUICEGATE_AUDIT_KILLS", "3"))
CLIENTS = 6
_SEEN_BEFORE_KILL = 40


class Clients:
    """Clients that send requests until the gateway is killed, and note what they saw."""

    def __init__(self, site: Site, gateway: RunningGateway) -> None:
        self.seen: list[str] = []
        self._site = site
        self._gateway = gateway
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(CLIENTS)]

    def run_until_killed(self) -> list[str]:
        """Kill the gateway under load. Returns the ids of the responses that clients saw."""
        for thread in self._threads:
            thread.start()
        assert self._enough.wait(60)
        self._gateway.process.send_signal(signal.SIGKILL)
        for thread in self._threads:
            thread.join()
        return self.seen

    def _send(self) -> None:
        with self._site.client(self._gateway) as client:
            while True:
                for method, path, body in (("GET", LISTING, None), ("POST", QUERY, {})):
                    try:
                        # The head of a response is enough: it is sent after the record.
                        with client.stream(method, path, json=body) as response:
                            self.seen.append(response.headers["x-request-id"])
                    except httpx.HTTPError:
                        return
                if len(self.seen) >= _SEEN_BEFORE_KILL:
                    self._enough.set()


@pytest.mark.parametrize("sink", ["database", "file"])
def test_no_record_of_a_response_that_was_seen_is_lost(tmp_path: Path, sink: str) -> None:
    records = tmp_path / "records"
    section = {"type": "file", "path": str(records)} if sink == "file" else {"type": "database"}
    site = Site(tmp_path, {"audit": {"sinks": [section]}, "cache": {"answers": "0"}})
    seen: list[str] = []
    for _ in range(KILLS):
        with ExitStack() as stack:
            gateway = stack.enter_context(running_gateway(tmp_path))
            seen += Clients(site, gateway).run_until_killed()
    place = ["--file", str(records)] if sink == "file" else []
    found = sluicegate(tmp_path, "audit", "search", "--json", "--limit", "100000", *place)
    recorded = {record["request_id"] for record in json.loads(found)}
    assert len(seen) >= KILLS * _SEEN_BEFORE_KILL
    assert set(seen) <= recorded
    sluicegate(tmp_path, "audit", "verify", *place)
