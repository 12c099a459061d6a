"""The gateway's errors in the format of the Iceberg REST catalog.

Source: Iceberg REST specification, "IcebergErrorResponse".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.responses import Response

from sluicegate.api import errors
from sluicegate.http.responses import error_response


class NoSuchWarehouse(errors.NotFound):
    """The share does not exist, or was not granted."""


class NoSuchNamespace(errors.NotFound):
    """The schema does not exist in the share, or the share was not granted."""


class NoSuchTable(errors.NotFound):
    """The table does not exist, was not granted, or this catalog does not offer it."""


class NoSuchPlanId(errors.NotFound):
    """The plan does not exist, or belongs to another recipient or table."""


class NoSuchPlanTask(errors.NotFound):
    """The plan task does not exist, or belongs to another recipient or table."""


# Clients depend on these names, which are names of exceptions in Iceberg's Java library.
_TYPES: Mapping[type[errors.SluicegateError], str] = {
    errors.SluicegateError: "InternalServerError",
    errors.InvalidRequest: "BadRequestException",
    errors.Unauthenticated: "NotAuthorizedException",
    errors.PermissionDenied: "ForbiddenException",
    errors.NotFound: "NotFoundException",
    errors.MethodNotAllowed: "MethodNotAllowedException",
    errors.PayloadTooLarge: "BadRequestException",
    errors.TableUnreadable: "BadRequestException",
    errors.RateLimited: "SlowDownException",
    errors.Unavailable: "ServiceUnavailableException",
    errors.StorageDenied: "ForbiddenException",
    NoSuchWarehouse: "NoSuchWarehouseException",
    NoSuchNamespace: "NoSuchNamespaceException",
    NoSuchTable: "NoSuchTableException",
    NoSuchPlanId: "NoSuchPlanIdException",
    NoSuchPlanTask: "NoSuchPlanTaskException",
}


def refuse(error: errors.SluicegateError) -> Response:
    """The response to an error: `{"error": {"message", "type", "code"}}`."""
    return error_response(error, _body)


@contextmanager
def missing_is(kind: type[errors.NotFound]) -> Iterator[None]:
    """Convert `NotFound` into the error for this kind of object."""
    try:
        yield
    except errors.NotFound as error:
        raise kind(error.message, detail=error.detail) from error


def _body(error: errors.SluicegateError) -> dict[str, Any]:
    named = next(_TYPES[kind] for kind in type(error).__mro__ if kind in _TYPES)
    return {"error": {"message": error.message, "type": named, "code": error.status}}
