"""Ends a role's sessions: an inline policy of the role denies what was issued before a moment.

No service of AWS revokes one session; "Revoking IAM role temporary security credentials" (IAM user
guide) describes this way. Each statement names one recipient's sessions by the name that they carry.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, TypeAlias

import anyio

from sluicegate.api import EndedSessions, Fresh
from sluicegate_s3.aws import BotocoreThreads, client, error_code
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.policy import document

Statement: TypeAlias = dict[str, Any]

POLICY_NAME: Final = "SluicegateEndedSessions"
"""Name of the inline policy on the role."""

_ISSUED = "aws:TokenIssueTime"
_SID = "Sluicegate"
_LONGEST_SESSION = timedelta(hours=12)
_MISSING = "NoSuchEntity"
_OBSTACLES = frozenset(("AccessDenied", "LimitExceeded", _MISSING))


class RoleSessions:
    """The sessions of one role, as an administrator of the role can end them.

    Args:
        role_arn: The role.
        threads: Where botocore runs.
        own: The gateway's credentials, with which it changes the role.
        region: A region of the role's partition.
        endpoint: URL of the service that takes role policies; `None` is AWS's.
        puts: The gateway puts the policy; else it only says what to put.
    """

    def __init__(
        self,
        role_arn: str,
        threads: BotocoreThreads,
        own: Fresh[Credentials],
        *,
        region: str,
        endpoint: str | None,
        puts: bool,
    ) -> None:
        self._arn = role_arn
        self._role = role_arn.rpartition("/")[2]
        self._threads = threads
        self._own = own
        self._region = region
        self._endpoint = endpoint
        self._puts = puts
        self._lock = anyio.Lock()

    async def end(self, name: str, before: int) -> EndedSessions:
        """End the sessions of a name that were issued before a moment (epoch milliseconds).

        Raises:
            StorageError: The service does not answer, or refuses for another reason than that the
                gateway may not, or the role is not there.
        """
        ended = denial(name, before)
        if not self._puts:
            return self._instructions(
                "the configuration does not let the gateway (vending: revoke, iam_endpoint)", ended
            )
        own = await self._own.get()
        async with self._lock:
            obstacle = await self._threads.run(lambda: self._put(own, ended))
        if obstacle is not None:
            return self._instructions(obstacle, ended)
        return EndedSessions(
            True,
            f"the policy {POLICY_NAME} of role {self._arn} denies all that the recipient's sessions "
            f"ask that were issued before {_issued_before(ended).isoformat()}",
        )

    def _put(self, own: Credentials, ended: Statement) -> str | None:
        """Put the policy; what stands against it where the gateway cannot."""
        from botocore.exceptions import ClientError

        service = client("iam", own, region=self._region, endpoint=self._endpoint)
        try:
            # A role of another account is asked for by its name alone: one of ours may have the same.
            if service.get_role(RoleName=self._role)["Role"]["Arn"] != self._arn:
                return "the role is another account's"
            statements = with_statement(self._statements(service), ended, datetime.now(UTC))
            service.put_role_policy(
                RoleName=self._role, PolicyName=POLICY_NAME, PolicyDocument=document(statements)
            )
        except ClientError as error:
            if error_code(error) not in _OBSTACLES:
                raise
            return f"the identity service answers {error_code(error)}"
        return None

    def _statements(self, service: Any) -> list[Statement]:
        """What the policy says now."""
        from botocore.exceptions import ClientError

        try:
            found = service.get_role_policy(RoleName=self._role, PolicyName=POLICY_NAME)
        except ClientError as error:
            if error_code(error) != _MISSING:
                raise
            return []
        statements = found["PolicyDocument"]["Statement"]
        return statements if isinstance(statements, list) else [statements]

    def _instructions(self, obstacle: str, ended: Statement) -> EndedSessions:
        return EndedSessions(
            False,
            f"the policy was not put on role {self._arn}: {obstacle}. An administrator of the role "
            f"puts it, beside statements that {POLICY_NAME} may already have:\n"
            f"aws iam put-role-policy --role-name {self._role} --policy-name {POLICY_NAME} "
            f"--policy-document '{document([ended])}'",
        )


def denial(name: str, before: int) -> Statement:
    """The statement that denies everything to sessions of a name issued before a moment.

    Sessions know their second only, so the moment is rounded up: none of the second survives.

    Args:
        name: The sessions' name.
        before: Epoch milliseconds.
    """
    second = datetime.fromtimestamp(-(-before // 1000), UTC)
    return {
        "Sid": f"{_SID}{sha256(name.encode()).hexdigest()[:16]}",
        "Effect": "Deny",
        "Action": "*",
        "Resource": "*",
        "Condition": {
            "StringLike": {"aws:userid": f"*:{name}"},
            "DateLessThan": {_ISSUED: second.strftime("%Y-%m-%dT%H:%M:%SZ")},
        },
    }


def with_statement(kept: Iterable[Statement], ended: Statement, now: datetime) -> list[Statement]:
    """A policy's statements with one more, which takes the place of its recipient's earlier one.

    Statements of ours that no living session can meet any more go; those of others stay.
    """
    merged = []
    for statement in kept:
        if statement.get("Sid") == ended["Sid"]:
            ended = max(statement, ended, key=_issued_before)
        elif not _is_ours(statement) or _issued_before(statement) + _LONGEST_SESSION > now:
            merged.append(statement)
    return [*merged, ended]


def _is_ours(statement: Statement) -> bool:
    return str(statement.get("Sid", "")).startswith(_SID)


def _issued_before(statement: Statement) -> datetime:
    return datetime.fromisoformat(statement["Condition"]["DateLessThan"][_ISSUED])
