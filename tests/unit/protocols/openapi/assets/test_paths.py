"""The paths of assets in the OpenAPI document are the routes."""

from __future__ import annotations

import pytest
from support.clients.described import operations, paths_below
from support.gateways.memory_assets import memory_assets

from sluicegate.api import ASSET_KINDS

PATHS = {
    path: item
    for path, item in paths_below("/delta-sharing").items()
    if any(f"{kind}s" in path for kind in ASSET_KINDS)
}


def test_every_route_is_described() -> None:
    routes = memory_assets().routes()
    served = {
        (route.path.removeprefix("/delta-sharing"), method.lower())
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, item in PATHS.items() for method in item}
    assert {each for each in described if each[1] != "parameters"} == served


@pytest.mark.parametrize("path", PATHS)
def test_credentials_are_posted_and_the_rest_is_read(path: str) -> None:
    methods = PATHS[path].keys() - {"parameters"}
    assert methods == ({"post"} if path.endswith("-credentials") else {"get"})


def test_operations_have_different_names() -> None:
    names = [each["operationId"] for each in operations(PATHS).values()]
    assert len(names) == len(set(names)) == len(PATHS)
