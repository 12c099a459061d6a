"""The paths of assets in the OpenAPI document are the routes."""

from __future__ import annotations

import pytest
from support.gateways.memory_assets import memory_assets

from sluicegate.protocols.openapi.assets.paths import paths


def test_every_route_is_described() -> None:
    routes = memory_assets().routes()
    served = {
        (route.path.removeprefix("/delta-sharing"), method.lower())
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, item in paths().items() for method in item}
    assert {each for each in described if each[1] != "parameters"} == served


@pytest.mark.parametrize("path", paths())
def test_credentials_are_posted_and_the_rest_is_read(path: str) -> None:
    methods = paths()[path].keys() - {"parameters"}
    assert methods == ({"post"} if path.endswith("-credentials") else {"get"})


def test_operations_have_different_names() -> None:
    names = [
        item[method]["operationId"]
        for item in paths().values()
        for method in item.keys() & {"get", "post"}
    ]
    assert len(names) == len(set(names)) == len(paths())
