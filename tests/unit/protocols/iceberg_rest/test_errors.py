import json

import pytest

from sluicegate.api import errors
from sluicegate.protocols.iceberg_rest.errors import NoSuchNamespace, NoSuchTable, missing_is, refuse


@pytest.mark.parametrize(
    ("error", "status", "named"),
    [
        (errors.InvalidRequest("bad"), 400, "BadRequestException"),
        (errors.Unauthenticated("who"), 401, "NotAuthorizedException"),
        (errors.PermissionDenied("no"), 403, "ForbiddenException"),
        (errors.NotFound("gone"), 404, "NotFoundException"),
        (NoSuchTable("gone"), 404, "NoSuchTableException"),
        (errors.MalformedRequest("no JSON"), 400, "BadRequestException"),
        (errors.Unavailable("later"), 503, "ServiceUnavailableException"),
    ],
)
def test_an_error_has_the_name_that_clients_know(
    error: errors.SluicegateError, status: int, named: str
) -> None:
    response = refuse(error)
    assert response.status_code == status
    body = json.loads(bytes(response.body))["error"]
    assert (body["type"], body["code"], body["message"]) == (named, status, error.message)


def test_a_missing_object_is_named_by_its_kind() -> None:
    with pytest.raises(NoSuchNamespace, match="no schema") as raised, missing_is(NoSuchNamespace):
        raise errors.NotFound("no schema", detail="private")
    assert raised.value.detail == "private"
