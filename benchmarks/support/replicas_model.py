"""Simulates gateways that commit their audit records to one database, in virtual time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds of CPU time, and of waiting.

    Attributes:
        request: CPU time of a request, without a commit.
        commit: CPU time of a commit in the database.
        distance: Seconds from a gateway to the database and back.
    """

    request: float
    commit: float
    distance: float


@dataclass(frozen=True)
class Estimate:
    """What a simulation has counted.

    Attributes:
        requests_per_second: Of all processes.
        database_busy: Fraction of the cores of the database that were busy.
        gateway_busy: Fraction of the cores of the gateways that were busy.
        seconds_per_request: Mean time of a response.
    """

    requests_per_second: float
    database_busy: float
    gateway_busy: float
    seconds_per_request: float


def simulate(
    costs: Costs, *, processes: int, clients: int, database_cores: int, commits: int = 200
) -> Estimate:
    """Simulate processes that have a core each, until each has made so many commits on average.

    Each client sends the next request when it has its response. A process serves those of all its
    clients, and then commits their records together, as the writer of the audit log does. The database
    serves commits in the order in which they arrive, each on one core.
    """
    cores = [0.0] * database_cores
    serving = clients * costs.request
    # Processes start at different times: otherwise, they would commit in step.
    arrivals = [(serving * (each + 1) / processes, each) for each in range(processes)]
    heapq.heapify(arrivals)
    total = processes * commits
    waited = end = 0.0
    for _ in range(total):
        at, process = heapq.heappop(arrivals)
        start = max(at + costs.distance / 2, heapq.heappop(cores))
        done = start + costs.commit
        heapq.heappush(cores, done)
        back = done + costs.distance / 2
        waited += back - at
        end = max(end, back)
        heapq.heappush(arrivals, (back + serving, process))
    cycle = waited / total + serving
    return Estimate(
        requests_per_second=total * clients / end,
        database_busy=total * costs.commit / (end * database_cores),
        gateway_busy=total * serving / (end * processes),
        seconds_per_request=cycle,
    )
