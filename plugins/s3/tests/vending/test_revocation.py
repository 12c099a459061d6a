"""Ending sessions, with moto's identity service, because SeaweedFS doesn't support role policies.

The tests check the policy itself, but not that AWS enforces it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import anyio
import boto3
import pytest

from sluicegate.api import EndedSessions, Principal, StorageError, UnsupportedOperation
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_s3.vending.revocation import POLICY_NAME, denial, with_statement
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.scripted_aws import ScriptedAWS

NOW = datetime.now(UTC).replace(microsecond=0)
BEFORE = int(NOW.timestamp() * 1000)
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture
def iam(moto: str) -> Any:
    return boto3.client(
        "iam",
        endpoint_url=moto,
        region_name="eu-west-1",
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="hush",
    )


@pytest.fixture
def role(iam: Any) -> str:
    name = f"reader-{uuid4().hex}"
    made = iam.create_role(RoleName=name, Path="/lake/", AssumeRolePolicyDocument=json.dumps(TRUST))
    return str(made["Role"]["Arn"])


def storage_of(endpoint: str, role: str, **vending: Any) -> S3Storage:
    config = S3Config.model_validate(
        {
            "prefix": "s3://lake/",
            "region": "eu-west-1",
            "sts_endpoint": endpoint,
            "access_key_id": "AKIAEXAMPLE",
            "secret_access_key": "hush",
            "vending": {"role_arn": role, "iam_endpoint": endpoint, **vending},
        }
    )
    return S3Storage.configured(config, FakeContext())


async def end(storage: S3Storage, name: str = "acme", before: int = BEFORE) -> EndedSessions:
    return await storage.end_sessions(Principal("r-1", name, "test"), before)


def policy_of(iam: Any, role: str) -> list[dict[str, Any]]:
    found = iam.get_role_policy(RoleName=role.rpartition("/")[2], PolicyName=POLICY_NAME)
    return list(found["PolicyDocument"]["Statement"])


async def test_a_recipients_older_sessions_are_denied_everything(
    moto: str, iam: Any, role: str
) -> None:
    ended = await end(storage_of(moto, role))

    assert ended.applied
    assert policy_of(iam, role) == [
        {
            "Sid": denial("acme", BEFORE)["Sid"],
            "Effect": "Deny",
            "Action": "*",
            "Resource": "*",
            "Condition": {
                "StringLike": {"aws:userid": "*:acme"},
                "DateLessThan": {"aws:TokenIssueTime": NOW.strftime("%Y-%m-%dT%H:%M:%SZ")},
            },
        }
    ]


async def test_the_gateways_own_sessions_go_on(moto: str, iam: Any, role: str) -> None:
    await end(storage_of(moto, role), "sluicegate")

    (statement,) = policy_of(iam, role)
    assert statement["Condition"]["StringLike"]["aws:userid"].startswith("*:sluicegate=")


async def test_recipients_ended_at_once_all_stay_ended(moto: str, iam: Any, role: str) -> None:
    storage = storage_of(moto, role)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(end, storage, f"recipient-{number}")

    users = {each["Condition"]["StringLike"]["aws:userid"] for each in policy_of(iam, role)}
    assert users == {f"*:recipient-{number}" for number in range(8)}


@pytest.mark.parametrize(("first", "second"), [(0, 5000), (5000, 0)])
def test_the_later_end_of_a_recipient_stays(first: int, second: int) -> None:
    earlier, later = denial("acme", BEFORE), denial("acme", BEFORE + 5000)

    kept = with_statement([denial("acme", BEFORE + first)], denial("acme", BEFORE + second), NOW)

    assert earlier != later
    assert kept == [later]


def test_ends_that_no_session_can_meet_any_more_go_and_what_others_wrote_stays() -> None:
    foreign = {"Sid": "Theirs", "Effect": "Deny", "Action": "s3:PutObject", "Resource": "*"}
    old = denial("old", BEFORE - int(timedelta(hours=12, seconds=1).total_seconds()) * 1000)
    recent = denial("recent", BEFORE - int(timedelta(hours=11).total_seconds()) * 1000)

    kept = with_statement([foreign, old, recent], denial("acme", BEFORE), NOW)

    assert kept == [foreign, recent, denial("acme", BEFORE)]


@pytest.mark.parametrize(("milliseconds", "second"), [(1000, "01"), (1001, "02"), (1999, "02")])
def test_no_session_of_the_second_survives(milliseconds: int, second: str) -> None:
    condition = denial("acme", milliseconds)["Condition"]

    assert condition["DateLessThan"]["aws:TokenIssueTime"] == f"1970-01-01T00:00:{second}Z"


def assert_tells_what_to_put(ended: EndedSessions) -> None:
    assert not ended.applied
    command, _, document = ended.instructions.splitlines()[1].partition(" --policy-document ")
    assert command.startswith("aws iam put-role-policy --role-name ")
    assert json.loads(document.strip("'"))["Statement"] == [denial("acme", BEFORE)]


async def test_where_the_configuration_says_so_the_policy_is_printed(
    moto: str, iam: Any, role: str
) -> None:
    assert_tells_what_to_put(await end(storage_of(moto, role, revoke="print")))

    with pytest.raises(iam.exceptions.NoSuchEntityException):
        policy_of(iam, role)


@pytest.mark.parametrize("code", ["AccessDenied", "LimitExceeded", "NoSuchEntity"])
async def test_where_the_gateway_cannot_the_policy_is_printed(service: ScriptedAWS, code: str) -> None:
    service.refuse(403, code)

    ended = await end(storage_of(service.endpoint, "arn:aws:iam::1:role/reader"))

    assert_tells_what_to_put(ended)
    assert code in ended.instructions


async def test_another_accounts_role_of_the_same_name_is_not_touched(
    moto: str, iam: Any, role: str
) -> None:
    foreign = role.replace("123456789012", "210987654321")

    ended = await end(storage_of(moto, foreign))

    assert_tells_what_to_put(ended)
    with pytest.raises(iam.exceptions.NoSuchEntityException):
        policy_of(iam, role)


async def test_any_other_refusal_is_an_error(service: ScriptedAWS) -> None:
    service.refuse(400, "MalformedPolicyDocument")

    with pytest.raises(StorageError):
        await end(storage_of(service.endpoint, "arn:aws:iam::1:role/reader"))


async def test_what_cannot_be_ended_is_reported(moto: str, role: str) -> None:
    ended = await end(storage_of(moto, role, allowed_bindings=["session", "full"]))

    assert ended.applied
    assert "the binding full or session" in ended.instructions


@pytest.mark.parametrize("vending", [{"binding": "session"}, None])
async def test_without_a_role_nothing_can_be_ended(vending: dict[str, Any] | None) -> None:
    config = S3Config.model_validate(
        {"prefix": "s3://lake/", "region": "eu-west-1", "vending": vending}
    )

    with pytest.raises(UnsupportedOperation):
        await end(S3Storage.configured(config, FakeContext()))
