"""A gateway under attack: a lake with a table for its bystander, and tables for the attacker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pyarrow as pa
from deltalake import write_deltalake
from support.clients.bystander import Watch, watched
from support.gateways.shared_lake import ACME, RIVAL, LakeTable, SharedLake

# Of the gateway whose limits are low.
LOW_BYTES = 100_000_000
LOW_ROWS = 100_000


@dataclass(frozen=True)
class Attacked:
    """The attacker is the recipient `acme`, the bystander is `rival`."""

    lake: SharedLake
    quiet: LakeTable

    @classmethod
    def over(cls, lake: SharedLake) -> Attacked:
        """A lake with the bystander's table, queried once: the process has loaded what queries need."""
        quiet = lake.table()
        write_deltalake(quiet.root, pa.table({"id": [1, 2, 3]}))
        lake.client(RIVAL).post(f"{quiet.path()}/query", json={}).raise_for_status()
        return cls(lake, quiet)

    @property
    def attacker(self) -> httpx.Client:
        """Asks as the attacker, below the Delta Sharing endpoint."""
        return self.lake.client(ACME)

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        """Let the bystander query its table and `/readyz` until the block ends."""
        gateway = self.lake.gateway
        bystander = self.lake.client(RIVAL)
        requests = (
            bystander.build_request("POST", f"{self.quiet.path()}/query", json={}),
            bystander.build_request("GET", f"{gateway.address}/readyz"),
        )
        with watched(gateway.process.pid, bystander, requests) as watch:
            yield watch
