from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_s3.address import BucketAddress
from sluicegate_s3.config import S3Config, VendingConfig

AWS: dict[str, Any] = {"prefix": "s3://lake/", "region": "eu-west-1"}
KEY: dict[str, Any] = {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "hush-hush"}
ROLE: dict[str, Any] = {"role_arn": "arn:aws:iam::123456789012:role/reader"}


@pytest.mark.parametrize(
    ("given", "prefix", "bucket"),
    [
        ("s3://lake", "s3://lake/", "lake"),
        ("s3://lake/", "s3://lake/", "lake"),
        ("s3a://lake/tables", "s3://lake/tables/", "lake"),
        ("s3n://lake/a b/ü//", "s3://lake/a b/ü/", "lake"),
        ("S3://lake.dotted", "s3://lake.dotted/", "lake.dotted"),
    ],
)
def test_a_prefix_is_spelled_one_way(given: str, prefix: str, bucket: str) -> None:
    config = S3Config(prefix=given, region="eu-west-1")

    assert (config.prefix, config.bucket) == (prefix, bucket)


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"region": "eu-west-1"}, BucketAddress("https://lake.s3.eu-west-1.amazonaws.com", "/")),
        ({"endpoint": "HTTPS://Store.Example:443/"}, BucketAddress("https://store.example", "/lake/")),
        ({"endpoint": "http://store.example:80"}, BucketAddress("http://store.example", "/lake/")),
        ({"endpoint": "http://[::1]:9000"}, BucketAddress("http://[::1]:9000", "/lake/")),
        (
            {"endpoint": "http://store.example:9000", "path_style": False},
            BucketAddress("http://lake.store.example:9000", "/"),
        ),
        (
            {"endpoint": "http://store:9000", "public_endpoint": "https://files.example"},
            BucketAddress("https://files.example", "/lake/"),
        ),
    ],
)
def test_presigned_urls_begin_with_the_host_that_clients_send(
    settings: dict[str, Any], address: BucketAddress
) -> None:
    config = S3Config(prefix="s3://lake/", **settings)

    assert config.public_address == address


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"prefix": "s3://lake/"}, "region is missing"),
        ({"prefix": "lake/", "region": "eu-west-1"}, "s3://bucket/directory/"),
        ({"prefix": "gs://lake/", "region": "eu-west-1"}, "s3://bucket/directory/"),
        ({"prefix": "s3://", "region": "eu-west-1"}, "not the name of an S3 bucket"),
        ({"prefix": "s3:///key", "region": "eu-west-1"}, "not the name of an S3 bucket"),
        ({"prefix": "s3://la ke/", "region": "eu-west-1"}, "not the name of an S3 bucket"),
        ({**AWS, "endpoint": "store.example:9000"}, "https://store.example.com:9000"),
        ({**AWS, "endpoint": "ftp://store.example"}, "https://store.example.com:9000"),
        ({**AWS, "endpoint": "https://store.example/s3"}, "only scheme, host and port"),
        ({**AWS, "endpoint": "https://user:word@store.example"}, "only scheme, host and port"),
        ({**AWS, "endpoint": "https://store.example:port"}, "endpoint"),
        ({**AWS, "access_key_id": "AKIAEXAMPLE"}, "set both"),
        ({**AWS, "secret_access_key": "hush-hush"}, "set both"),
        ({**AWS, "session_token": "hush-hush"}, "requires a static key"),
        ({**AWS, **KEY, "profile": "lake"}, "are mutually exclusive"),
        ({**AWS, "external_id": "42"}, "external_id requires role_arn"),
        ({**AWS, "sts_region": "eu-west-1", "role_session_duration": 900}, "requires role_arn"),
        ({**AWS, "role_arn": "reader"}, "role_arn"),
        ({**AWS, "vending": {}}, "the binding 'role' requires a role"),
        ({**AWS, "vending": {"binding": "session", "allowed_bindings": ["role"]}}, "requires a role"),
        ({**AWS, "vending": {**ROLE, "binding": "none"}}, "unknown binding none"),
        ({**AWS, "vending": {**ROLE, "allowed_bindings": ["ful"]}}, "unknown binding ful"),
        ({**AWS, "vending": {**ROLE, "binding": "full"}}, "allowed_bindings"),
        ({**AWS, "vending": {**ROLE, "duration": 899}}, "duration"),
        ({**AWS, "vending": {**ROLE, "tags": {}}}, "tags"),
        ({**AWS, "vending": {**ROLE, "session_tags": {"who": "email"}}}, "session_tags"),
        ({**AWS, "vending": {**ROLE, "session_tags": {"aws:who": "name"}}}, "session_tags"),
        ({**AWS, "vending": {**ROLE, "session_tags": {"": "name"}}}, "session_tags"),
        ({**AWS, "vending": {**ROLE, "session_tags": {"é" * 129: "name"}}}, "session_tags"),
        ({**AWS, "vending": {**ROLE, "session_tags": {"who\n": "name"}}}, "session_tags"),
        ({**AWS, "endpoint": "https://store.example", "vending": ROLE}, "requires sts_endpoint"),
        ({**AWS, "kms_key_arn": "arn:aws:kms:eu-west-1:1:key/*"}, "kms_key_arn"),
        ({**AWS, "kms_key_arn": "alias/lake"}, "kms_key_arn"),
        ({**AWS, **ROLE, "role_session_duration": 60}, "role_session_duration"),
        ({**AWS, **ROLE, "role_session_name": "a name"}, "role_session_name"),
        ({**AWS, **ROLE, "role_session_name": "é"}, "role_session_name"),
        ({**AWS, **ROLE, "role_session_name": "é" * 65}, "role_session_name"),
        ({**AWS, **ROLE, "role_session_name": "name\n"}, "role_session_name"),
        ({**AWS, **ROLE, "endpoint": "https://store.example"}, "requires sts_endpoint"),
        (
            {"prefix": "s3://la.ke/", "region": "eu-west-1", "path_style": False},
            "cannot be part of a host name",
        ),
        ({**AWS, "anonymous": True}, "anonymous"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        S3Config(**settings)

    assert complaint in str(refused.value)


@pytest.mark.parametrize("name", ["é=", "é" * 64])
def test_session_names_have_2_to_64_characters(name: str) -> None:
    assert S3Config(**AWS, **ROLE, role_session_name=name).role_session_name == name


def test_keys_of_session_tags_have_up_to_128_characters() -> None:
    tags = {"é" * 128: "name", "a b": "id"}

    assert VendingConfig(**ROLE, session_tags=tags).session_tags == tags


def test_a_secret_is_not_shown() -> None:
    config = S3Config(**AWS, **KEY, session_token="hush-hush")

    assert "hush-hush" not in repr(config)
    assert "hush-hush" not in str(config.model_dump_json())


def test_a_refusal_shows_no_secret() -> None:
    with pytest.raises(ValidationError) as refused:
        S3Config(**AWS, **KEY, profile="lake")

    assert "hush-hush" not in str(refused.value)


def test_every_setting_is_described() -> None:
    undescribed = [
        name
        for model in (S3Config, VendingConfig)
        for name, field in model.model_fields.items()
        if not field.description
    ]

    assert undescribed == []
