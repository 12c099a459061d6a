"""The queries of a warm-up: of a valid table, executed as for a recipient, recorded nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from sqlalchemy import func, select

from sluicegate.api.errors import ConfigurationError, Unavailable
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.database.tables import ledger
from sluicegate.protocols.delta_sharing import warm_up_queries
from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.warm_up_queries import FOLDER, LATEST, warm_up_store
from sluicegate.telemetry import metrics

# It opens its database and becomes ready, which are no parts of a query.
OF_THE_GATEWAY = {
    "db.client.connection.count",
    "sluicegate.profiles.ending",
    "sluicegate.ready",
    "sluicegate.step.duration",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.model_validate({"database": f"sqlite:///{tmp_path}/sluicegate.db"})


def test_the_table_is_one_that_others_read(tmp_path: Path) -> None:
    store = warm_up_store()
    for batch in store.list():
        for found in batch:
            path = tmp_path / found["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(store.get(found["path"]).bytes()))
    table = DeltaTable(tmp_path / FOLDER)
    assert table.version() == LATEST
    names = sorted(uri.rpartition("/")[2] for uri in table.file_uris())
    assert names == ["part-1.parquet", "part-2.parquet"]


async def test_a_warm_up_is_recorded_nowhere(settings: Settings) -> None:
    reader = InMemoryMetricReader()
    metrics.enable(MeterProvider([reader]).get_meter("test"))
    try:
        async with Gateway.running(settings) as gateway:
            await gateway.warm_up()
            await gateway.parts.vending.ledger.flush()
            async with gateway.parts.store.read() as connection:
                counted = await connection.execute(select(func.count()).select_from(ledger))
                assert counted.scalar_one() == 0
    finally:
        metrics.disable()
    data = reader.get_metrics_data()
    assert data is not None
    [resource] = data.resource_metrics
    [scope] = resource.scope_metrics
    found = {metric.name: metric.data.data_points for metric in scope.metrics}
    assert found.keys() <= OF_THE_GATEWAY
    steps = [(point.attributes or {})["step"] for point in found.get("sluicegate.step.duration", ())]
    assert all(str(step).startswith("db.") for step in steps)


async def test_each_query_returns_the_files_of_its_version(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[bytes] = []
    responses = warm_up_queries._responses

    async def kept(pipeline: QueryPipeline) -> AsyncIterator[SharingResponse]:
        async for response in responses(pipeline):
            bodies.append(b"".join([part async for part in response.lines]))
            yield response

    monkeypatch.setattr(warm_up_queries, "_responses", kept)
    async with Gateway.running(settings) as gateway:
        await warm_up_queries.execute_queries(gateway.parts)
    urls = [body.count(b"memory://") for body in bodies]
    of_a_format = [0, 2, 2, 1, 2, 2]  # metadata, the four queries, the changes of the last commit
    assert urls == 2 * of_a_format


@pytest.mark.parametrize("error", [ValueError("s3cret"), Unavailable("the table is gone")])
async def test_a_gateway_whose_queries_fail_is_never_ready(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(warm_up_queries, "execute_queries", failing)
    async with Gateway.running(settings) as gateway:
        gateway.readiness.begin()
        with pytest.raises(ConfigurationError, match="the gateway cannot execute queries") as refused:
            await gateway.warm_up()
        with pytest.raises(Unavailable, match="starting"):
            await gateway.readiness.check()
    assert "s3cret" not in refused.value.for_operators
