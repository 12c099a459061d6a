"""Runs the clients, the outages, the writers and the reloads, and collects what they find."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx
from soak.doors.all import OPERATIONS
from soak.liveness import Liveness, watched
from soak.logs import LogFindings, read_log
from soak.record import Record, Stopped
from soak.schedule import Fault, Pace, Schedule
from soak.site import READERS, TARGETS, Site, running_site
from soak.stopping import left_by
from soak.threads import POOLS, SQLITE_POOLS
from soak.visitor import PATIENCE_SECONDS, Operation, Visitor, sharing
from soak.watch import Watch
from support.gateways.gateway import sluicegate

from sluicegate_testing.secrets import registered, search

_REST_SECONDS = 12.0
_VERIFY_SECONDS = 600.0
_BEAT_SECONDS = 0.2
# What the proxies delay by that much can exceed the timeouts of the gateway.
_STALL_SECONDS = 1.0
_MOST_STALLED = 0.05  # of the time


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes:
        seconds: How long clients are at work.
        think: Average seconds between two operations of a client.
        commit_every: Seconds between two commits to some table.
        reload_every: Seconds between two reloads of the configuration.
        recovery: Seconds after an outage in which 503 is right. The gateway reads a store for up to ten
            seconds before it is an error, and a catalog for four; then it waits before it asks for
            credentials again.
        rounds_after: How often each operation must succeed at the end, when no server fails any more.
    """

    seconds: float
    clients: int = 64
    seed: int = 1
    think: float = 5.0
    database: str = "postgresql"
    processes: int = 1
    pace: Pace = field(default_factory=Pace)
    commit_every: float = 10.0
    reload_every: float = 60.0
    recovery: float = 15.0
    rounds_after: int = 3

    @property
    def warm_up(self) -> float:
        """Seconds after which the memory must stay the same; it was seen to rise for five minutes."""
        return min(max(self.seconds / 4, 300), 600, self.seconds / 2)


@dataclass(frozen=True)
class Result:
    """What a run found."""

    plan: Plan
    record: Record
    operations: Counter[str]
    injected: dict[str, Counter[Fault]]
    watches: Sequence[Watch]
    liveness: Liveness
    logs: Sequence[LogFindings]
    commits: int
    reloads: int


async def soak(folder: Path, plan: Plan) -> Result:
    """Run a soak in an empty folder."""
    schedule = Schedule.random(plan.seed, TARGETS, plan.seconds, pace=plan.pace, recovery=plan.recovery)
    runs: list[_Run] = []

    def fault(target: str) -> Fault | None:
        return schedule.fault(target, runs[0].record.now) if runs else None

    async with running_site(folder, kind=plan.database, processes=plan.processes, fault=fault) as site:
        run = _Run(plan, site, Record(schedule))
        runs.append(run)
        with watched(site.gateway.address, run.record.violation, run.record.late) as liveness:
            await run.clients()
            await run.everything_works_again()
        await asyncio.to_thread(run.stop)
        injected = {name: proxy.injected for name, proxy in site.proxies.items()}
    return run.result(injected, liveness)


class _Run:
    def __init__(self, plan: Plan, site: Site, record: Record) -> None:
        self._plan, self._site, self.record = plan, site, record
        pools = POOLS if plan.database == "postgresql" else {**POOLS, **SQLITE_POOLS}
        name = urlsplit(_database_of(site)).path.removeprefix("/")
        database = name if plan.database == "postgresql" else ""
        self._watches = (
            Watch("gateway", site.gateway.process.pid, database, pools),
            Watch("delegation service", site.delegation.process.pid, "", pools),
        )
        self._operations: Counter[str] = Counter()
        self._commits = self._reloads = 0

    async def clients(self) -> None:
        """Let all clients work until the time has passed."""
        tasks = [
            asyncio.create_task(self._repeat(self._commit, self._plan.commit_every)),
            asyncio.create_task(self._repeat(self._reload, self._plan.reload_every)),
            asyncio.create_task(self._repeat(self._look, 5)),
            asyncio.create_task(self._notice_stalls()),
        ]
        async with asyncio.TaskGroup() as group:
            for number in range(self._plan.clients):
                group.create_task(self._client(number))
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def everything_works_again(self) -> None:
        """No server fails any more: from a while later on, every operation must succeed.

        Threads without work end after ten seconds; one request then lets those of anyio end.
        """
        await asyncio.sleep(self.record.schedule.recovery)
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
            visitor = self._visitor(http, 0)
            for operation in OPERATIONS * self._plan.rounds_after:
                await self._perform(visitor, operation)
            await asyncio.sleep(_REST_SECONDS)
            await visitor.get("rested", sharing(self._site.table("local"), "/metadata"))
        for watch in self._watches:
            await asyncio.to_thread(watch.look_rested, self.record.now)

    def stop(self) -> None:
        """Stop both services, which must leave nothing, and verify their audit records."""
        gateway, delegation = self._site.gateway, self._site.delegation
        for name, process, address in (
            ("delegation service", delegation.process, delegation.address),
            ("gateway", gateway.process, gateway.address),
        ):
            for what in left_by(process, address):
                self.record.violation(f"the {name} {what}")
        try:
            sluicegate(gateway.folder, "audit", "verify", seconds=_VERIFY_SECONDS)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            self.record.violation(f"the audit log: {error}")

    def result(self, injected: dict[str, Counter[Fault]], liveness: Liveness) -> Result:
        """What was found, with what the samples and the logs show."""
        for watch in self._watches:
            for what in watch.excesses(self._plan.warm_up):
                self.record.violation(what)
        self.record.settle()
        stalled = sum(end - begin for begin, end in self.record.stalls)
        if stalled > _MOST_STALLED * self._plan.seconds:
            self.record.violation(f"the machine was too busy: it did not run for {stalled:.0f} seconds")
        site = self._site
        logs = [read_log(each.log_file) for each in (site.gateway, site.delegation)]
        for line in (line for log in logs for line in log.faults):
            self.record.violation(f"log: {line}")
        for leak in search([site.gateway.folder], registered()).leaks:
            self.record.violation(f"a secret was written: {leak}")
        return Result(
            self._plan,
            self.record,
            self._operations,
            injected,
            self._watches,
            liveness,
            logs,
            self._commits,
            self._reloads,
        )

    def _visitor(self, http: httpx.AsyncClient, number: int) -> Visitor:
        recipient = READERS[number % len(READERS)]
        token = self._site.profiles[recipient]["bearerToken"]
        random = Random(f"{self._plan.seed} {number}")
        return Visitor(self._site, self.record, http, recipient, token, random)

    async def _client(self, number: int) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
            visitor = self._visitor(http, number)
            weights = [each.weight for each in OPERATIONS]
            think = self._plan.think
            await asyncio.sleep(visitor.random.uniform(0, 2 * think))
            while self.record.now < self._plan.seconds:
                (operation,) = visitor.random.choices(OPERATIONS, weights)
                await self._perform(visitor, operation)
                await asyncio.sleep(visitor.random.uniform(0, 2 * think))

    async def _perform(self, visitor: Visitor, operation: Operation) -> None:
        try:
            await operation.run(visitor)
        except Stopped:
            return
        except Exception as error:
            # The operation could not understand an answer, or is wrong itself.
            self.record.violation(f"{operation.name}: {type(error).__name__}: {error}")
            return
        self._operations[operation.name] += 1

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while self.record.now < self._plan.seconds:
            try:
                await step()
            except Exception as error:
                self.record.violation(f"{step.__name__}: {type(error).__name__}: {error}")
            await asyncio.sleep(pause)

    async def _notice_stalls(self) -> None:
        while self.record.now < self._plan.seconds:
            before = self.record.now
            await asyncio.sleep(_BEAT_SECONDS)
            if self.record.now - before > _BEAT_SECONDS + _STALL_SECONDS:
                self.record.stalls.append((before, self.record.now))

    async def _commit(self) -> None:
        table = self._site.tables[self._commits % len(self._site.tables)]
        await asyncio.to_thread(table.commit, self.record.now)
        self._commits += 1

    async def _reload(self) -> None:
        self._site.gateway.process.send_signal(signal.SIGHUP)
        self._reloads += 1

    async def _look(self) -> None:
        for watch in self._watches:
            await asyncio.to_thread(watch.look, self.record.now)


def _database_of(site: Site) -> str:
    settings = json.loads((site.gateway.folder / "gateway.yaml").read_text())
    return str(settings["database"])
