from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_gcs.config import GCSConfig

KEY = {
    "type": "service_account",
    "client_email": "reader@acme.iam.gserviceaccount.com",
    "private_key": "-----BEGIN PRIVATE KEY-----\nhush-hush\n-----END PRIVATE KEY-----\n",
    "token_uri": "https://oauth2.googleapis.com/token",
}
LAKE = {"prefix": "gs://lake/"}


@pytest.mark.parametrize(
    ("given", "prefix", "bucket"),
    [
        ("gs://lake", "gs://lake/", "lake"),
        ("gcs://lake/tables", "gs://lake/tables/", "lake"),
        ("GS://lake.example.com/a b/ü//", "gs://lake.example.com/a b/ü/", "lake.example.com"),
        ("gs://under_score/", "gs://under_score/", "under_score"),
    ],
)
def test_a_prefix_is_spelled_one_way(given: str, prefix: str, bucket: str) -> None:
    config = GCSConfig(prefix=given)

    assert (config.prefix, config.bucket) == (prefix, bucket)


@pytest.mark.parametrize(
    ("settings", "origin", "connection"),
    [
        ({}, "https://storage.googleapis.com", {}),
        (
            {"endpoint": "HTTP://Emulator:80/"},
            "http://emulator",
            {"endpoint": "http://emulator"},
        ),
        (
            {"endpoint": "http://[::1]:4443", "public_endpoint": "https://files.example:443"},
            "https://files.example",
            {"endpoint": "https://files.example"},
        ),
    ],
)
def test_recipients_get_the_endpoint_that_they_reach(
    settings: dict[str, Any], origin: str, connection: dict[str, str]
) -> None:
    config = GCSConfig(**LAKE, **settings)

    assert (config.public_origin, config.connection) == (origin, connection)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"prefix": "s3://lake/"}, "gs://bucket/directory/"),
        ({"prefix": "lake"}, "gs://bucket/directory/"),
        ({"prefix": "gs:///key"}, "not the name of a bucket"),
        ({"prefix": "gs://La ke/"}, "not the name of a bucket"),
        ({**LAKE, "endpoint": "emulator:4443"}, "https://storage.example.com:4443"),
        ({**LAKE, "endpoint": "https://storage.example/storage/v1"}, "only scheme, host and port"),
        ({**LAKE, "hmac_access_id": "GOOG1E"}, "set both"),
        ({**LAKE, "hmac_secret": "hush-hush"}, "set both"),
        ({**LAKE, "service_account_email": "reader"}, "service_account_email"),
        (
            {**LAKE, "service_account_key": json.dumps(KEY), "service_account_email": "a@b"},
            "are mutually exclusive",
        ),
        ({**LAKE, "service_account_key": "hush-hush"}, "to read it from a file, set {file: PATH}"),
        ({**LAKE, "service_account_key": '["hush-hush"]'}, "JSON of a service account key"),
        (
            {**LAKE, "service_account_key": json.dumps({**KEY, "type": "authorized_user"})},
            "JSON of a service account key",
        ),
        (
            {**LAKE, "service_account_key": json.dumps({**KEY, "private_key": None})},
            "lacks private_key",
        ),
        ({**LAKE, "anonymous": True}, "anonymous"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        GCSConfig(**settings)

    assert complaint in str(refused.value)
    assert "hush-hush" not in str(refused.value)


def test_a_secret_is_not_shown() -> None:
    config = GCSConfig(
        **LAKE, service_account_key=json.dumps(KEY), hmac_access_id="GOOG1E", hmac_secret="hush-hush"
    )

    assert "hush-hush" not in repr(config)
    assert "hush-hush" not in config.model_dump_json()


def test_every_setting_is_described() -> None:
    undescribed = [name for name, field in GCSConfig.model_fields.items() if not field.description]

    assert undescribed == []
