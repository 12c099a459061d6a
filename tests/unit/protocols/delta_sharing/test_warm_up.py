"""The parts of a warm-up, without a database: what is loaded, and what a failure says."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.gateways.memory_gateway import memory_gateway
from support.gateways.memory_grants import MemoryGrants
from support.gateways.parts import gateway_parts

from sluicegate._util.lazy import Lazy
from sluicegate.api.errors import ConfigurationError
from sluicegate.protocols.delta_sharing.warm_up import warm_up
from sluicegate.protocols.delta_sharing.warm_up_queries import (
    FOLDER,
    NAME,
    execute_queries,
    warm_up_instances,
    warm_up_store,
)
from sluicegate.tables.delta import DeltaFormat

NOT_USED = cast("Any", None)


@pytest.mark.usefixtures("same_allocators")
async def test_queries_of_the_table_need_neither_grants_nor_a_database() -> None:
    await execute_queries(gateway_parts(memory_gateway(), grants=MemoryGrants([])))


async def test_the_table_is_in_the_storage_of_the_warm_up() -> None:
    instances = warm_up_instances(warm_up_store(), DeltaFormat())
    table = await instances.catalog(NAME).load_table(NAME)
    location, storage = instances.storage_for(table.location)
    directory = await storage.open(location)
    assert (directory.prefix, table.format) == (FOLDER, "delta")
    assert (await storage.presign([f"{location}/a"], 60)).urls == [f"{location}/a"]


async def test_a_pipeline_that_cannot_be_loaded_is_named() -> None:
    def missing() -> Any:
        raise ModuleNotFoundError("s3cret", name="pyarrow")

    with pytest.raises(ConfigurationError) as refused:
        await warm_up(gateway_parts(memory_gateway()), NOT_USED, [Lazy(missing)])
    assert refused.value.for_operators == (
        "the gateway cannot load what queries need: ModuleNotFoundError for the module pyarrow"
    )
