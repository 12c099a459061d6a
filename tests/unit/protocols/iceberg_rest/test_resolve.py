"""What the path of a request names, and the access modes that a load can use."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request
from support.gateways.iceberg_in_memory import IcebergInMemory
from support.gateways.in_memory import Restricted
from support.gateways.memory_grants import ACME, RIVAL

from sluicegate.api import PermissionDenied
from sluicegate.protocols.iceberg_rest.errors import NoSuchNamespace, NoSuchTable
from sluicegate.protocols.iceberg_rest.resolve import PathResolver


def request(table: str, namespace: str = "eu", share: str = "sales") -> Request:
    names = {"share": share, "namespace": namespace, "table": table}
    return Request({"type": "http", "path_params": names})


def requested(**options: Any) -> PathResolver:
    return PathResolver(IcebergInMemory(**options).made.resolver)


async def test_names_are_case_insensitive() -> None:
    table = await requested().table(request("ORDERS", "EU", "Sales"), ACME)
    assert (table.share, table.schema, table.name) == ("sales", "eu", "orders")


async def test_a_missing_schema_is_named() -> None:
    for missing in (request("orders", "asia"), request("orders", share="other")):
        with pytest.raises(NoSuchNamespace):
            await requested().schema(missing, ACME)
    with pytest.raises(NoSuchNamespace):
        await requested().schema(request("orders"), RIVAL)


async def test_a_table_in_a_missing_schema_is_a_missing_table() -> None:
    names = (request("nothing"), request("orders", "asia"), request("orders", share="other"))
    for missing in names:
        with pytest.raises(NoSuchTable):
            await requested().table(missing, ACME)
    with pytest.raises(NoSuchTable):
        await requested().table(request("orders"), RIVAL)


@pytest.mark.parametrize("with_credentials", [True, False])
async def test_without_policies_a_table_keeps_its_access_modes(with_credentials: bool) -> None:
    found = await requested().for_load(request("orders"), ACME, with_credentials)
    assert (found.table.access_modes, found.denied) == (("url", "dir"), False)


@pytest.mark.parametrize(
    ("name", "with_credentials", "modes", "told"),
    [
        ("orders", True, ("url",), True),
        ("orders", False, ("url", "dir"), False),
        ("by_url", True, ("url",), False),
        ("by_dir", False, ("dir",), False),
    ],
)
async def test_denied_credentials_leave_the_way_file_by_file(
    name: str, with_credentials: bool, modes: tuple[str, ...], told: bool
) -> None:
    found = await requested(policies=(Restricted(),)).for_load(request(name), ACME, with_credentials)
    assert (found.table.access_modes, found.denied) == (modes, told)


async def test_denied_credentials_are_an_error_if_there_is_no_other_way() -> None:
    with pytest.raises(PermissionDenied):
        await requested(policies=(Restricted(),)).for_load(request("by_dir"), ACME, True)
