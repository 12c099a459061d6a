"""Ends a role's sessions with an inline policy that denies those issued before a given time.

AWS can't revoke a single session. This method is described in "Revoking IAM role temporary security
credentials" (IAM user guide). Each statement identifies one recipient's sessions by their name.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, TypeAlias

import anyio

from sluicegate.api import EndedSessions, RefreshingValue
from sluicegate_s3.aws import BotocoreThreads, client, error_code
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.vending.policy import document

Statement: TypeAlias = dict[str, Any]

POLICY_NAME: Final = "SluicegateEndedSessions"
"""Name of the inline policy on the role."""

_ISSUED = "aws:TokenIssueTime"
_SID = "Sluicegate"
_LONGEST_SESSION = timedelta(hours=12)
_MISSING = "NoSuchEntity"
_OBSTACLES = frozenset(("AccessDenied", "LimitExceeded", _MISSING))


class RoleSessions:
    """Ends sessions of one role, as an administrator of the role can."""

    def __init__(
        self,
        role_arn: str,
        threads: BotocoreThreads,
        own: RefreshingValue[Credentials],
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
        """End the sessions with a name that were issued before a time (epoch milliseconds)."""
        ended = denial(name, before)
        if not self._puts:
            return self._instructions(
                "the gateway's configuration does not permit it (vending.revoke, vending.iam_endpoint)",
                ended,
            )
        own = await self._own.get()
        async with self._lock:
            obstacle = await self._threads.run(lambda: self._put(own, ended))
        if obstacle is not None:
            return self._instructions(obstacle, ended)
        return EndedSessions(
            True,
            f"the policy {POLICY_NAME} of role {self._arn} denies all requests of the recipient's "
            f"sessions that were issued before {_issued_before(ended).isoformat()}",
        )

    def _put(self, own: Credentials, ended: Statement) -> str | None:
        """Put the policy. If the gateway can't, return the reason."""
        from botocore.exceptions import ClientError

        service = client("iam", own, region=self._region, endpoint=self._endpoint)
        try:
            # Roles of other accounts would be looked up by name alone, and might match one of this
            # account.
            if service.get_role(RoleName=self._role)["Role"]["Arn"] != self._arn:
                return "the role belongs to another account"
            statements = with_statement(self._statements(service), ended, datetime.now(UTC))
            service.put_role_policy(
                RoleName=self._role, PolicyName=POLICY_NAME, PolicyDocument=document(statements)
            )
        except ClientError as error:
            if error_code(error) not in _OBSTACLES:
                raise
            return f"the identity service returned {error_code(error)}"
        return None

    def _statements(self, service: Any) -> list[Statement]:
        """Return the current statements of the policy."""
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
            f"the policy was not put on role {self._arn}: {obstacle}. To put it, run the following "
            "command as an administrator of the role. If the role already has the policy "
            f"{POLICY_NAME}, include its statements in the document.\n"
            f"aws iam put-role-policy --role-name {self._role} --policy-name {POLICY_NAME} "
            f"--policy-document '{document([ended])}'",
        )


def denial(name: str, before: int) -> Statement:
    """Return a statement that denies everything to sessions with a name issued before a time.

    Sessions contain only the second of issue, so the time is rounded up: no session of that second
    stays valid.
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
    """Add a statement to a policy, and replace an earlier one for the same recipient.

    Statements of the gateway that no longer apply to any valid session are removed. Other statements
    remain.
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
