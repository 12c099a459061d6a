"""Session policies, which limit a role's session to reading some directories of a bucket.

Policies are as short as possible, because the token service limits their length and, packed together
with the session's tags, their size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from sluicegate.api import UnsupportedOperation

MAX_CHARACTERS: Final = 2048
"""Maximum length of a session policy for `AssumeRole`."""

_SPECIAL: Final = re.compile(r"[*?]|\$(?=\{)")


def reading_policy(
    bucket: str, directories: Iterable[str], *, role_arn: str, kms_key_arn: str | None = None
) -> str:
    """Return a policy that only permits listing some directories and getting their objects.

    A listing must name a directory with its slash: without it, the prefix would also list siblings
    whose names begin alike. Requests for an object with the name of the directory itself are
    permitted, because clients that check whether a path is a file expect the response that it doesn't
    exist.
    """
    outermost = merged(directories)
    arn = f"arn:{partition_of(role_arn)}:s3:::{bucket}"
    statements = [
        _allow("s3:GetObject", [f"{arn}/{key}" for each in outermost for key in _keys(each)]),
        _allow("s3:ListBucket", [arn], _listing(outermost)),
    ]
    if kms_key_arn is not None:
        statements.append(_allow("kms:Decrypt", [kms_key_arn]))
    policy = document(statements)
    if len(policy) > MAX_CHARACTERS:
        raise UnsupportedOperation(
            f"the table has files in {len(outermost)} directories, whose names are too long for one "
            "session policy; read the table with 'url' access, or ask its owner to store it in "
            "fewer directories",
            detail=f"{len(policy)} characters, but at most {MAX_CHARACTERS} are permitted",
        )
    return policy


def merged(directories: Iterable[str]) -> list[str]:
    """Return the directories that are not below another one, sorted."""
    kept: list[str] = []
    for directory in sorted(set(directories), key=lambda each: f"{each}/" if each else ""):
        if not any(not outer or directory.startswith(f"{outer}/") for outer in kept):
            kept.append(directory)
    return kept


def partition_of(arn: str) -> str:
    """Return the AWS partition of an ARN. ARNs of other stores count as `aws`."""
    partition = arn.split(":")[1]
    return partition if partition.startswith("aws") else "aws"


def document(statements: list[dict[str, Any]]) -> str:
    """Return statements as a policy document, without white space and in ASCII."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _literal(text: str) -> str:
    """Escape text so that a policy contains no wildcards and variables.

    AWS, "IAM JSON policy elements: Variables and tags", "Specifying special
    characters".
    """
    return _SPECIAL.sub(r"${\g<0>}", text)


def _keys(directory: str) -> list[str]:
    return [_literal(directory), f"{_literal(directory)}/*"] if directory else ["*"]


def _listing(directories: list[str]) -> dict[str, Any] | None:
    if directories == [""]:
        return None
    return {"StringLike": {"s3:prefix": _one_or_all([f"{_literal(each)}/*" for each in directories])}}


def _allow(
    action: str, resources: list[str], condition: dict[str, Any] | None = None
) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": _one_or_all(resources)}
    return statement if condition is None else {**statement, "Condition": condition}


def _one_or_all(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values
