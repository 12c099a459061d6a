"""Session policies: what a role's session may do, narrowed to reading some directories of a bucket.

A policy is written as short as it can be, because the token service bounds its length and, packed
together with the session's tags, its size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from sluicegate.api import UnsupportedOperation

MAX_CHARACTERS: Final = 2048
"""Longest session policy that `AssumeRole` takes."""

_SPECIAL: Final = re.compile(r"[*?]|\$(?=\{)")


def reading_policy(
    bucket: str, directories: Iterable[str], *, role_arn: str, kms_key_arn: str | None = None
) -> str:
    """The policy that lets a session list some directories and get their objects, and nothing else.

    A listing must name a directory with its slash: a prefix without it would also list siblings whose
    names begin alike. The object that is called like the directory itself may be asked for, because
    clients that look whether a path is a file expect to hear that there is none.

    Args:
        bucket: The bucket.
        directories: Keys without trailing slashes; the empty one is the whole bucket.
        role_arn: The role, whose partition (`aws`, `aws-cn`, `aws-us-gov`) the bucket shares.
        kms_key_arn: The key that the objects are encrypted with.

    Raises:
        UnsupportedOperation: The directories are too many, or too long, for one policy.
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
            f"the table lies in {len(outermost)} directories, whose names are too long for one session "
            "policy; read it by presigned URLs, or ask its owner to keep it in fewer directories",
            detail=f"{len(policy)} characters, {MAX_CHARACTERS} at most",
        )
    return policy


def merged(directories: Iterable[str]) -> list[str]:
    """The directories without those that lie in another of them, sorted."""
    kept: list[str] = []
    for directory in sorted(set(directories), key=lambda each: f"{each}/" if each else ""):
        if not any(not outer or directory.startswith(f"{outer}/") for outer in kept):
            kept.append(directory)
    return kept


def partition_of(arn: str) -> str:
    """The partition of AWS that an ARN lies in; other stores' ARNs count as `aws`."""
    partition = arn.split(":")[1]
    return partition if partition.startswith("aws") else "aws"


def document(statements: list[dict[str, Any]]) -> str:
    """Statements as a policy document, without white space and in ASCII."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _literal(text: str) -> str:
    """Text in which a policy reads no wildcard and no variable.

    "IAM JSON policy elements: Variables and tags", "Specifying special characters".
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
