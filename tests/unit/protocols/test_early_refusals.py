"""Requests that are refused early get the error format of the protocol at their path."""

import json

import pytest

from sluicegate.access.authentication.oauth.endpoint import TOKEN_PATHS
from sluicegate.api.errors import RateLimited, SluicegateError, Unavailable
from sluicegate.protocols.early_refusals import refused_early

LIMITED = RateLimited("too many requests", retry_after=7)
DOWN = Unavailable("the audit log cannot be written; try again later")


@pytest.mark.parametrize("path", TOKEN_PATHS)
@pytest.mark.parametrize("error", [LIMITED, DOWN], ids=["limited", "unavailable"])
def test_token_endpoints_answer_as_oauth_requires(path: str, error: SluicegateError) -> None:
    response = refused_early(path, error)
    assert response.status_code == error.status
    body = json.loads(bytes(response.body))
    assert body["error"] == "slow_down"
    assert body["error_description"] == error.message
    assert response.headers["cache-control"] == "private, no-store"


def test_token_endpoints_say_when_to_try_again() -> None:
    assert refused_early(TOKEN_PATHS[0], LIMITED).headers["retry-after"] == "7"


def test_the_iceberg_catalog_answers_with_its_model_of_errors() -> None:
    response = refused_early("/iceberg/v1/config", LIMITED)
    body = json.loads(bytes(response.body))
    assert response.status_code == body["error"]["code"] == 429
    assert body["error"]["message"] == LIMITED.message
    assert response.headers["retry-after"] == "7"


@pytest.mark.parametrize("path", ["/delta-sharing/shares", "/", "/icebergs"])
def test_other_paths_get_the_error_of_delta_sharing(path: str) -> None:
    response = refused_early(path, DOWN)
    body = json.loads(bytes(response.body))
    assert response.status_code == 503
    assert body == {"errorCode": DOWN.code, "message": DOWN.message}
