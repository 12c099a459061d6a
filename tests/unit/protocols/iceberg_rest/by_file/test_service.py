"""A table that is read file by file: loaded, planned, and each of its requests signed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import (
    PUBLIC_URL,
    MemoryGateway,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_grants import ACME
from support.gateways.parts import gateway_parts
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_shape
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import PermissionDenied, UnsupportedOperation
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.by_file import service as service_module
from sluicegate.protocols.iceberg_rest.by_file.service import FileByFile
from sluicegate.protocols.iceberg_rest.errors import NoSuchPlanId, NoSuchPlanTask
from sluicegate.protocols.iceberg_rest.file_access.file_paths import location_of
from sluicegate.protocols.iceberg_rest.load_table import LoadRequest
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.versions import DescribedVersion

BY_DAY = table_metadata([schema_field("id", "long"), schema_field("day", "string")], ["day"])
ROWS = [file(f"{day}.parquet", partition_values=f'{{"day":"{day}"}}') for day in "ab"]
ORDERS = shared_table(partition_filter="day = 'a'")
BEARER: dict[str, str] = {}
SIGNING = LoadRequest(with_credentials=False, referenced_only=False, with_signing=True)


class KnownShapes:
    """Shapes with ids that need no database."""

    def __init__(self, store: Store) -> None:
        pass

    async def of(self, table: OpenTable, read: DescribedVersion) -> IcebergShape:
        return iceberg_shape(read.metadata)


@pytest.fixture
def gateway() -> MemoryGateway:
    versions = [snapshot(*ROWS, version=number, metadata=BY_DAY) for number in range(3)]
    return memory_gateway(ORDERS, format=MemoryFormat(versions))


@pytest.fixture
def service(gateway: MemoryGateway, monkeypatch: pytest.MonkeyPatch) -> FileByFile:
    monkeypatch.setattr(service_module, "Shapes", KnownShapes)
    settings = Settings.model_validate({"public_url": PUBLIC_URL})
    return service_module.file_by_file(gateway_parts(gateway, settings))


async def loaded(
    service: FileByFile, gateway: MemoryGateway, request: LoadRequest = SIGNING
) -> dict[str, Any]:
    """What a client gets when it loads the table."""
    made = await service.load(ACME, ORDERS, gateway.catalog["orders"], request)
    answer: dict[str, Any] = orjson.loads(orjson.dumps(made))
    return answer


async def joined(parts: AsyncIterator[bytes]) -> dict[str, Any]:
    """The JSON object of some parts."""
    answer: dict[str, Any] = orjson.loads(b"".join([part async for part in parts]))
    return answer


async def planned(service: FileByFile, **request: Any) -> dict[str, Any]:
    """A plan of the table."""
    return await joined(await service.plan(ACME, ORDERS, orjson.dumps(request), BEARER))


def request_for(path: str, config: dict[str, str], method: str = "GET") -> dict[str, Any]:
    """The request to the store that a client wants to have signed."""
    uri = path.replace("s3://", config["s3.endpoint"] + "/")
    return {"region": "us-east-1", "uri": uri, "method": method, "headers": {}}


async def test_a_load_has_the_current_snapshot_and_says_where_requests_are_signed(
    service: FileByFile, gateway: MemoryGateway
) -> None:
    answer = await loaded(service, gateway)
    assert answer["metadata"]["current-snapshot-id"] == 3
    assert [each["snapshot-id"] for each in answer["metadata"]["snapshots"]] == [3]
    assert answer["metadata"]["location"] == location_of(shared_table())
    assert answer["config"]["signer.uri"] == f"{PUBLIC_URL}/iceberg"
    endpoint = "v1/shares/sales/namespaces/eu/tables/orders/sign"
    assert answer["config"]["signer.endpoint"] == endpoint
    assert "lake" not in orjson.dumps(answer).decode()  # the real location is not shown


async def test_a_client_that_plans_by_itself_is_refused_what_its_manifests_cannot_express(
    service: FileByFile, gateway: MemoryGateway
) -> None:
    by_number = table_metadata([schema_field("id", "long"), schema_field("day", "long")], ["day"])
    made = snapshot(*ROWS, version=3, metadata=by_number)
    gateway.format.versions = [*gateway.format.versions, made]
    assert (await loaded(service, gateway))["metadata"]["current-snapshot-id"] == 4
    with pytest.raises(UnsupportedOperation, match="has a partition whose value of 'day'"):
        await loaded(service, gateway, replace(SIGNING, dialect=Dialect.PYICEBERG))


async def test_variants_are_for_clients_that_support_them(
    service: FileByFile, gateway: MemoryGateway
) -> None:
    columns = [schema_field("day", "string"), schema_field("v", "variant")]
    made = snapshot(*ROWS, version=3, metadata=table_metadata(columns, ["day"]))
    gateway.format.versions = [*gateway.format.versions, made]
    schema = (await loaded(service, gateway))["metadata"]["schemas"][-1]
    assert schema["fields"][1]["type"] == "variant"
    with pytest.raises(UnsupportedOperation, match="PyIceberg cannot read the column 'v'"):
        await loaded(service, gateway, replace(SIGNING, dialect=Dialect.PYICEBERG))


async def test_a_plan_names_the_shared_files_whose_requests_are_signed(
    service: FileByFile, gateway: MemoryGateway
) -> None:
    config = (await loaded(service, gateway))["config"]
    [task] = (await planned(service))["file-scan-tasks"]
    path = task["data-file"]["file-path"]
    assert path.endswith("/a.parquet")
    signed = await service.sign(ACME, ORDERS, request_for(path, config))
    uri = orjson.loads(bytes(signed.body))["uri"]
    assert "orders/a.parquet" in uri
    with pytest.raises(PermissionDenied):
        await service.sign(ACME, ORDERS, request_for(path.replace("a.parquet", "b.parquet"), config))


async def test_the_manifest_list_is_read_through_a_link_of_the_gateway(
    service: FileByFile, gateway: MemoryGateway
) -> None:
    answer = await loaded(service, gateway)
    [current] = answer["metadata"]["snapshots"]
    signed = await service.sign(ACME, ORDERS, request_for(current["manifest-list"], answer["config"]))
    assert orjson.loads(bytes(signed.body))["uri"].startswith(f"{PUBLIC_URL}/content/~iceberg/")


async def test_a_plan_is_fetched_again_and_cancelled_by_its_id(service: FileByFile) -> None:
    plan = await planned(service)
    again = await joined(await service.planned(ACME, ORDERS, plan["plan-id"]))
    assert again["file-scan-tasks"] == plan["file-scan-tasks"]
    await service.cancel(ACME, ORDERS, plan["plan-id"])


async def test_forged_plans_and_tasks_do_not_exist(service: FileByFile) -> None:
    with pytest.raises(NoSuchPlanId):
        await service.planned(ACME, ORDERS, "forged")
    with pytest.raises(NoSuchPlanId):
        await service.cancel(ACME, ORDERS, "forged")
    with pytest.raises(NoSuchPlanTask):
        await service.tasks(ACME, ORDERS, b'{"plan-task": "forged"}')


async def test_a_snapshot_can_be_named(service: FileByFile) -> None:
    assert len((await planned(service, **{"snapshot-id": 3}))["file-scan-tasks"]) == 1
