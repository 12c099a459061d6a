"""Values that the document repeats are those of the code."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import DOCUMENT, METHODS, PATHS, SCHEMAS, operations, parameter

from sluicegate.access.authentication.oauth.endpoint import TOKEN_PATHS
from sluicegate.access.authentication.oauth.requests import FORM, SCOPE, SCOPES
from sluicegate.access.recipients.profile import ACTIVATION_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.api import ASSET_KINDS
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.protocols.common.parameters import MAX_RESULTS
from sluicegate.protocols.delta_sharing.paths import PREFIX
from sluicegate.protocols.derived_files import SPACE
from sluicegate.protocols.iceberg_rest.file_access.generated_links import SPACE as ICEBERG_SPACE
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.protocols.openapi.address import DOCUMENT as DOCUMENT_PATH

LISTINGS = [
    operation
    for operation in operations(PATHS).values()
    if any(each["name"] == "maxResults" for each in operation.get("parameters", ()))
]


def test_scopes_are_those_that_are_granted() -> None:
    scheme = DOCUMENT["components"]["securitySchemes"]["accessToken"]
    assert tuple(scheme["flows"]["clientCredentials"]["scopes"]) == SCOPES
    assert scheme["flows"]["clientCredentials"]["tokenUrl"].endswith(TOKEN_ENDPOINT_PATH)
    assert {"accessToken": [SCOPE]} in DOCUMENT["security"]
    assert ", ".join(SCOPES) in SCHEMAS["TokenRequest"]["properties"]["scope"]["description"]


@pytest.mark.parametrize("operation", LISTINGS, ids=lambda operation: operation["operationId"])
def test_the_largest_page_is_that_of_the_code(operation: dict[str, Any]) -> None:
    assert parameter(operation, "maxResults")["maximum"] == MAX_RESULTS


def test_paths_are_those_that_are_served() -> None:
    assert PATHS.keys() >= {
        *(*HEALTH_PATHS, *TOKEN_PATHS, ACTIVATION_PATH, PREFIX + DOCUMENT_PATH),
        *(f"/content/{SPACE}/{{link}}", f"/content/{ICEBERG_SPACE}/{{link}}"),
        f"{ENDPOINT_PATH}/{{path}}",
    }
    for path in TOKEN_PATHS:
        assert list(PATHS[path]["post"]["requestBody"]["content"]) == [FORM]


def test_every_method_of_signed_requests_is_refused() -> None:
    assert PATHS[f"{ENDPOINT_PATH}/{{path}}"].keys() - {"parameters"} == {*METHODS}


@pytest.mark.parametrize("kind", ASSET_KINDS)
def test_every_kind_of_asset_is_described(kind: str) -> None:
    assert {kind.title(), f"{kind.title()}Page"} <= SCHEMAS.keys()
