"""The delegation service has the limits of the section `server`, as the gateway has."""

from __future__ import annotations

from pathlib import Path

import orjson
from support.clients.hostile import connected, pour, status
from support.servers.serving import serving

_HEAD = b"GET /livez HTTP/1.1\r\nhost: x\r\nx: "


def test_heads_and_connections_are_limited(tmp_path: Path) -> None:
    settings = {"server": {"head_timeout": 1, "max_connections_per_address": 1}}
    (tmp_path / "gateway.yaml").write_bytes(orjson.dumps(settings))
    (tmp_path / "gateway.yaml").chmod(0o600)
    command = ("delegation", "serve", "--port", "0")
    with serving(tmp_path, *command, log_file=tmp_path / "service.log") as (_, address):
        with connected(address) as connection:
            assert status(pour(connection, [_HEAD, b"x" * 70_000])) == 431
        with connected(address, "127.0.0.3") as slow:
            with connected(address, "127.0.0.3") as another:
                assert status(pour(another, [])) == 429
            assert status(pour(slow, [_HEAD])) == 408
