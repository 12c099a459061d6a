from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluicegate.api import UnsupportedOperation
from sluicegate_s3.vending.policy import MAX_CHARACTERS, merged, reading_policy

ROLE = "arn:aws:iam::123456789012:role/reader"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"


def matches(pattern: str, text: str) -> bool:
    """IAM's wildcards and escapes, implemented from its documentation. Variables match nothing."""
    parts = re.findall(r"\$\{([*?$])\}|(\$\{)|(\*)|(\?)|(.)", pattern, re.DOTALL)
    if any(variable for _, variable, *_ in parts):
        return False
    expression = "".join(
        ".*" if many else "." if one else re.escape(escaped or plain)
        for escaped, _, many, one, plain in parts
    )
    return re.fullmatch(expression, text, re.DOTALL) is not None


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def allows(policy: str, action: str, resource: str, prefix: str | None = None) -> bool:
    return any(
        statement["Action"] == action
        and any(matches(each, resource) for each in listed(statement["Resource"]))
        and _condition_holds(statement.get("Condition"), prefix)
        for statement in json.loads(policy)["Statement"]
    )


def _condition_holds(condition: Any, prefix: str | None) -> bool:
    if condition is None:
        return True
    assert list(condition) == ["StringLike"]
    assert list(condition["StringLike"]) == ["s3:prefix"]
    patterns = listed(condition["StringLike"]["s3:prefix"])
    return prefix is not None and any(matches(each, prefix) for each in patterns)


def gets(policy: str, key: str) -> bool:
    return allows(policy, "s3:GetObject", f"arn:aws:s3:::lake/{key}")


def lists(policy: str, prefix: str | None) -> bool:
    return allows(policy, "s3:ListBucket", "arn:aws:s3:::lake", prefix)


def of(*directories: str, **more: Any) -> str:
    return reading_policy("lake", directories, **{"role_arn": ROLE, **more})


SEGMENT = st.text(st.sampled_from("ab*?${}=é日 \"\\'"), min_size=1, max_size=6)
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)


def within(directories: Sequence[str], key: str) -> bool:
    return any(key == each or key.startswith(f"{each}/") for each in directories)


@given(st.lists(PATH, min_size=1, max_size=4), PATH)
def test_a_policy_never_opens_a_key_outside(directories: list[str], key: str) -> None:
    policy = of(*directories)

    assert len(policy) <= MAX_CHARACTERS
    assert gets(policy, key) == within(directories, key)


@given(st.lists(PATH, min_size=1, max_size=4), PATH, st.booleans())
def test_a_policy_never_lists_a_prefix_outside(
    directories: list[str], prefix: str, slash: bool
) -> None:
    asked = f"{prefix}/" if slash else prefix

    assert lists(of(*directories), asked) == any(asked.startswith(f"{each}/") for each in directories)


@given(PATH, st.sampled_from("ab*?${}"))
def test_a_sibling_that_begins_alike_stays_shut(directory: str, more: str) -> None:
    policy = of(directory)

    for sibling in (f"{directory}{more}", f"{directory}{more}/part", f"{directory[:-1]}{more}x/part"):
        assume(not within([directory], sibling))
        assert not gets(policy, sibling)
        assert not lists(policy, sibling)
    assert gets(policy, f"{directory}/part")
    assert lists(policy, f"{directory}/")
    assert not lists(policy, directory)
    assert not lists(policy, None)


@given(st.lists(st.text(max_size=600).filter(lambda text: "/" not in text), min_size=1, max_size=30))
def test_a_policy_is_short_enough_or_refused(directories: list[str]) -> None:
    try:
        policy = of(*directories)
    except UnsupportedOperation:
        assert len(directories) > 1 or len(directories[0]) > 20
    else:
        assert len(policy) <= MAX_CHARACTERS
        assert policy.isascii()


def test_directories_that_fit_in_no_policy_are_refused_by_their_number() -> None:
    with pytest.raises(UnsupportedOperation, match="30 directories"):
        of(*(f"tables/sales-{number:030}" for number in range(30)))


@pytest.mark.parametrize(
    ("directories", "outermost"),
    [
        (["a", "a"], ["a"]),
        (["a/b", "a"], ["a"]),
        (["a-b", "a/b", "a"], ["a-b", "a"]),
        (["ab", "a"], ["a", "ab"]),
        (["a/b/c", "a/bc", "a/b"], ["a/b", "a/bc"]),
        (["a", ""], [""]),
    ],
)
def test_a_directory_in_another_needs_no_words(directories: list[str], outermost: list[str]) -> None:
    assert merged(directories) == outermost


def test_a_table_of_one_directory_has_a_short_policy() -> None:
    assert json.loads(of("tables/sales")) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": ["arn:aws:s3:::lake/tables/sales", "arn:aws:s3:::lake/tables/sales/*"],
            },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": "arn:aws:s3:::lake",
                "Condition": {"StringLike": {"s3:prefix": "tables/sales/*"}},
            },
        ],
    }


def test_a_whole_bucket_is_listed_without_a_prefix_too() -> None:
    policy = of("")

    assert gets(policy, "anything")
    assert lists(policy, None)


@pytest.mark.parametrize(
    ("role", "bucket"),
    [
        ("arn:aws:iam::1:role/r", "arn:aws:s3:::lake"),
        ("arn:aws-cn:iam::1:role/r", "arn:aws-cn:s3:::lake"),
        ("arn:aws-us-gov:iam::1:role/r", "arn:aws-us-gov:s3:::lake"),
        ("arn:minio:iam:::role/r", "arn:aws:s3:::lake"),
    ],
)
def test_the_bucket_lies_in_the_roles_partition(role: str, bucket: str) -> None:
    assert allows(of("t", role_arn=role), "s3:ListBucket", bucket, "t/")


def test_only_an_encrypted_storage_opens_its_key() -> None:
    assert allows(of("t", kms_key_arn=KEY), "kms:Decrypt", KEY)
    assert "kms" not in of("t")
