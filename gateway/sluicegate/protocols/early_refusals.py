"""Error responses of requests that are refused before a protocol handles them."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.access.authentication.oauth.endpoint import TOKEN_PATHS, refusal_response
from sluicegate.access.authentication.oauth.requests import OAuthError
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.api.errors import RateLimited, SluicegateError, deciding_rule
from sluicegate.http.responses import error_response
from sluicegate.protocols.iceberg_rest.errors import refuse
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.protocols.iceberg_rest.store.errors import refused


def refused_early(path: str, error: SluicegateError) -> Response:
    """Return errors for early rejections, in the format of the protocol at the request's path."""
    if path in TOKEN_PATHS:
        seconds = error.retry_after if isinstance(error, RateLimited) else None
        rule = deciding_rule(error)
        return refusal_response(OAuthError("slow_down", error.message, error.status, seconds, rule))
    if path.startswith(f"{ENDPOINT_PATH}/"):
        return refused(error, "GET")
    return refuse(error) if path.startswith(f"{ICEBERG_PATH}/") else error_response(error)
