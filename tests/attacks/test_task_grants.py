"""Random tasks of four realms, run by an executor that may do everything: only the grants protect."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import obstore
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from support.process.random_cases import times
from support.servers.delegation import PURGE, SECRET, Desk, RunningClock, body, running_service
from support.tasks.greedy_executor import REWRITE, GreedyExecutor

from sluicegate.api.errors import SluicegateError
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate_testing.servers.seaweedfs import SeaweedFS

# Fewer do not succeed in each realm.
EXAMPLES = 100 if times() == 1 else 200 * times()
# What realms own: a directory, one whose name begins the same, a single file, nothing.
OWNED = {"plain": "a", "neighbour": "ab", "single": "c/only.parquet", "bare": None}
CATALOGS = {"plain": "catalog_a", "neighbour": "catalog_ab", "single": "catalog_c"}
FILES = ("t/1.parquet", "t/metadata.json", "u/2.parquet")
OBJECTS = (
    *(f"{folder}/{file}" for folder in ("a", "ab", "b", "A") for file in FILES),
    *("c/only.parquet", "c/only.parquet.old", "c/other.parquet", "a.parquet", "top.parquet"),
)
REALMS: dict[str, dict[str, Any]] = {
    realm: {
        "catalogs": [CATALOGS[realm]],
        "locations": [f"s3://lake/{owned}"],
        "operations": [PURGE, REWRITE] if realm != "neighbour" else [PURGE],
    }
    for realm, owned in OWNED.items()
    if owned
} | {"bare": {"operations": [PURGE, REWRITE]}}
CLIENTS = {"polaris": {"secret": SECRET, "realms": list(REALMS)}}

Objects = dict[str, str | None]


@dataclass(frozen=True)
class Case:
    """A task, how it comes in, and what its table's own files name."""

    realm: str
    document: dict[str, Any]
    named: tuple[str, ...]
    skips_submission: bool


@dataclass
class Lake:
    """A store with everybody's objects, and a service whose worker has the administrator's key."""

    server: SeaweedFS
    desk: Desk
    runner: asyncio.Runner
    ended: Counter[str] = field(default_factory=Counter)

    def objects(self) -> Objects:
        """Keys and tags of all objects."""
        listed = obstore.list(self.server.store()).collect()
        return {each["path"]: each["e_tag"] for each in listed}

    def restore(self, changed: Iterable[str]) -> None:
        """Write what has gone or was changed."""
        for key in changed:
            self.server.put(key, key.encode())

    async def run(self, case: Case) -> set[str]:
        """Hand the task over and work it off; what the executor has touched."""
        executor = GreedyExecutor(self.server, TABLES, case.named)
        service = running_service(
            self.desk,
            executor,
            with_worker=False,
            operations=(PURGE, REWRITE),
            catalogs=tuple(TABLES),
            clients=CLIENTS,
            realms=REALMS,
            retry={"max_attempts": 1},
        )
        async with service as running:
            task_id = None
            if case.skips_submission:  # so that the worker's check is alone
                with suppress(SluicegateError):
                    payload = TaskPayload.parse(orjson.dumps(case.document))
                    task_id = (await self.desk.queue.submit(payload, "polaris")).id
            else:
                answer = await running.post("", case.document)
                assert answer.status_code in (202, 400, 403), answer.text
                task_id = answer.json().get("delegation_task_id")
            if task_id is None:
                self.ended["refused"] += 1
                return executor.touched
            async with running.base.worker() as worker:
                working = asyncio.create_task(worker.run())
                ended = await self.desk.ended(task_id)
                worker.drain()
                await working
        assert ended.error_code in (None, "NOT_GRANTED"), ended
        self.ended[f"{ended.status} of {case.realm}"] += 1
        return executor.touched


# Where the catalogs say their tables are; the last is nobody's.
TABLES = {
    **{CATALOGS[realm]: f"s3://lake/{owned}" for realm, owned in OWNED.items() if owned},
    "catalog_b": "s3://lake/b/t",
}
PLACES = (
    *("metadata.location", "metadata_location", "properties.location", "base-location"),
    *("properties.write.data.path", "metadata.properties.write.metadata.path"),
    *("metadata.snapshots.manifest-list", "metadata.metadata-log.metadata-file"),
    *("metadata.statistics.statistics-path", "storage-credentials.prefix"),
    *("config.location", "metadata.properties.location", "metadata.note", "properties.note"),
)
STARTS = ("", "a", "ab", "b", "A", "c", "c/only.parquet", "c/other.parquet", "a.parquet")
TURNS = (
    *("/../", "/./../", "/%2e%2e/", "/%2E./", "/%252e%252e/", "/%25252e%25252e/", "%2f..%2f", "\\..\\"),
    *("/..?/", "/..#/", "/t/../../", "//", "/%00/../", "/\x00/", "/..\n/", "?", "#", "%", "%2F", "b"),
    *("/\uff0e\uff0e/", "/..;/", "/.%2e/", "/%c0%ae%c0%ae/", "/..%5c", "%252f%252e%252e%252f"),
)
SCHEMES = (
    *("s3://lake/",) * 4,
    *("s3a://lake/", "S3://lake/", "s3n://lake/", "gs://lake/", "file:///", "file:///lake/", "/lake/"),
    *("s3://LAKE/", "s3://lake//", "s3:/lake/", "s3://x@lake/", "s3://lake:443/", "abfss://lake@x/"),
    *("https://lake.s3.amazonaws.com/", "http://127.0.0.1/lake/", "", "s3://warehouse/", "s3://"),
)


def locations(realm: str) -> st.SearchStrategy[str]:
    """Mostly the realm's own, else its neighbours', also in disguise."""
    ends = st.sampled_from(("", "/", "/t", "/t/", "/t/1.parquet", "/u"))
    own = ends.map(lambda end: f"s3://lake/{OWNED[realm] or 'a'}{end}")
    plain = st.tuples(st.sampled_from(STARTS), ends).map(lambda parts: "s3://lake/" + "".join(parts))
    foreign = st.tuples(st.sampled_from(SCHEMES), st.sampled_from(STARTS), ends).map("".join)
    turned = st.tuples(
        own | foreign, st.sampled_from(TURNS), st.sampled_from(STARTS), st.just("") | ends
    ).map("".join)
    return st.one_of(own, own, own, plain, plain, foreign, turned)


def with_locations(document: dict[str, Any], named: dict[str, str]) -> dict[str, Any]:
    """A payload with each location at its place."""
    parameters = document["operation_parameters"]
    if any(place.startswith("metadata.") for place in named):
        parameters["metadata"] = {"location": "s3://lake/", "table-uuid": "u", "format-version": 2}
        if "metadata.location" not in named:
            own = OWNED[document["common_payload"]["realm_identifier"]] or "a"
            parameters["metadata"]["location"] = f"s3://lake/{own}"
    for place, location in named.items():
        outer, _, inner = place.partition(".")
        target = parameters
        if outer in ("metadata", "properties", "config") and inner:
            target = parameters.setdefault(outer, {})
        head, _, key = (inner or outer).partition(".")
        if outer == "storage-credentials":
            parameters[outer] = [{"prefix": location, "config": {}}]
        elif head in ("snapshots", "statistics", "metadata-log"):
            target[head] = [{key: location}]
        elif head == "properties":
            target[head] = {key: location}
        else:
            target[inner or outer] = location
    return document


@st.composite
def cases(draw: st.DrawFn) -> Case:
    realm = draw(st.sampled_from(sorted(REALMS)))
    operation = draw(
        st.sampled_from((PURGE, PURGE, PURGE, REWRITE, "SYNCHRONOUS_TABLE_PURGE", "OTHER"))
    )
    document = body(realm=realm, operation=operation)
    catalogs = (CATALOGS.get(realm, "catalog_a"),) * 3 + (*TABLES, "unknown", "unknown", "Catalog_a")
    identity = document["operation_parameters"]["table_identity"]
    identity["catalog_name"] = draw(st.sampled_from(catalogs))
    places = draw(st.lists(st.sampled_from(PLACES), max_size=3, unique=True))
    located = {place: draw(locations(realm)) for place in places}
    named = tuple(draw(st.lists(locations(realm), max_size=2)))
    skips_submission = operation != "OTHER" and draw(st.booleans())  # no worker would ever take it
    return Case(realm, with_locations(document, located), named, skips_submission)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("grants")
    with SeaweedFS.start(folder / "seaweedfs") as server, asyncio.Runner() as runner:
        store = runner.run(Store.open(f"sqlite:///{folder}/tasks.db"))
        lake = Lake(server, Desk(store, DelegationSettings(), RunningClock()), runner)
        lake.restore(OBJECTS)
        yield lake
        runner.run(store.aclose())


def is_own(realm: str, key: str) -> bool:
    """Whether an object is the realm's, by the very letters of its key."""
    owned = OWNED[realm]
    return owned is not None and (key == owned or key.startswith(f"{owned}/"))


def test_no_task_touches_what_its_realm_was_not_granted(lake: Lake) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def check(case: Case) -> None:
        before = lake.objects()
        touched = lake.runner.run(lake.run(case))
        after = lake.objects()
        changed = {key for key in before | after if before.get(key) != after.get(key)}
        lake.restore(changed)
        assert [key for key in touched if not is_own(case.realm, key)] == []
        assert [key for key in changed if not is_own(case.realm, key)] == []
        assert changed <= touched

    check()
    assert lake.ended.keys() >= {f"SUCCESS of {realm}" for realm in CATALOGS} | {"refused"}
    assert "SUCCESS of bare" not in lake.ended
