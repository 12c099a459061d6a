"""The bystander itself: it notices what it is there to notice."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from support.clients.bystander import watched
from support.gateways.attacked import Attacked

from sluicegate_testing.servers.ports import free_port

_GROWS = "x = bytearray(200_000_000); del x; print('done', flush=True); input()"


def test_a_gateway_that_nobody_attacks_serves_everybody(attacked: Attacked) -> None:
    with attacked.watched() as watch:
        pass
    watch.check(growth=100_000_000)
    assert watch.answered >= 6


def test_a_request_that_is_not_served_is_noticed(attacked: Attacked) -> None:
    gateway = attacked.lake.gateway
    with httpx.Client() as client:
        refused = client.build_request("GET", f"{gateway.address}/delta-sharing/shares")
        with watched(gateway.process.pid, client, [refused]) as watch:
            pass
    with pytest.raises(AssertionError, match="401"):
        watch.check(growth=100_000_000)


def test_a_server_that_is_not_there_is_noticed(attacked: Attacked) -> None:
    with httpx.Client() as client:
        lost = client.build_request("GET", f"http://127.0.0.1:{free_port()}/livez")
        with watched(attacked.lake.gateway.process.pid, client, [lost]) as watch:
            pass
    with pytest.raises(AssertionError, match="ConnectError"):
        watch.check(growth=100_000_000)


def test_memory_that_was_given_back_is_noticed() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"input(); {_GROWS}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    with httpx.Client() as client, watched(process.pid, client, []) as watch:
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
    process.communicate("\n")
    with pytest.raises(AssertionError, match=r"grew by 2\d\d MB"):
        watch.check(growth=100_000_000)
