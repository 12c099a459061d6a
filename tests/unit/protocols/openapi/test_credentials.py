"""Temporary credentials are described as the gateway sends them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from support.clients.described import SCHEMAS, fits

from sluicegate.api import TemporaryCredentials
from sluicegate.vending.delta_sharing_format import sharing_json

SESSION = {"access_key_id": "a", "secret_access_key": "b", "session_token": "c"}
SECRETS = {
    "aws": SESSION,
    "r2": SESSION,
    "azure": {"sas_token": "a"},
    "gcp": {"oauth_token": "a"},
}
MEMBERS = ("awsTempCredentials", "azureUserDelegationSas", "gcpOauthToken", "r2Credentials")


def sent(kind: Literal["aws", "azure", "gcp", "r2"] = "aws") -> dict[str, Any]:
    return sharing_json(TemporaryCredentials("s3://lake/t", kind, SECRETS[kind], 1_700_000_000_000))


@pytest.mark.parametrize("kind", ["aws", "azure", "gcp", "r2"])
def test_credentials_of_every_cloud_fit_as_they_are_sent(
    kind: Literal["aws", "azure", "gcp", "r2"],
) -> None:
    assert fits("TemporaryTableCredentials", {"credentials": sent(kind)})
    assert len(sent(kind).keys() & set(MEMBERS)) == 1


def test_there_is_the_secret_of_exactly_one_cloud() -> None:
    assert not fits("TemporaryCredentials", sent("aws") | sent("gcp"))
    none = {"location": "s3://lake/t", "expirationTime": 1}
    assert not fits("TemporaryCredentials", none)


@pytest.mark.parametrize("member", ["location", "expirationTime", "awsTempCredentials"])
def test_no_member_can_be_missing(member: str) -> None:
    assert not fits("TemporaryCredentials", {k: v for k, v in sent().items() if k != member})


@pytest.mark.parametrize("member", ["accessKeyId", "secretAccessKey", "sessionToken"])
def test_no_key_of_a_session_can_be_missing(member: str) -> None:
    session = {"accessKeyId": "a", "secretAccessKey": "b", "sessionToken": "c"}
    assert fits("SessionCredentials", session)
    assert not fits("SessionCredentials", {k: v for k, v in session.items() if k != member})


@pytest.mark.parametrize(
    ("body", "valid"),
    [({}, True), ({"location": "s3://lake/t"}, True), ({"more": 1}, True), ({"location": 1}, False)],
)
def test_a_request_can_name_a_directory(body: dict[str, Any], valid: bool) -> None:
    assert fits("CredentialsRequest", body) is valid
    assert list(SCHEMAS["CredentialsRequest"]["properties"]) == ["location"]
