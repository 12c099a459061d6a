from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_r2.address import Bucket
from sluicegate_r2.config import R2Config

ACCOUNT = "0123456789abcdef0123456789abcdef"
HOST = f"{ACCOUNT}.r2.cloudflarestorage.com"
KEYS: dict[str, Any] = {"access_key_id": "key", "secret_access_key": "hush-hush"}
LAKE: dict[str, Any] = {"prefix": f"r2://lake@{HOST}/", **KEYS}


@pytest.mark.parametrize(
    ("given", "prefix", "host"),
    [
        (f"r2://lake@{HOST}", f"r2://lake@{HOST}/", HOST),
        (f"R2://lake@{HOST.upper()}/A b/ü//", f"r2://lake@{HOST}/A b/ü/", HOST),
        *(
            (
                f"r2://lake@{ACCOUNT}.{where}.r2.cloudflarestorage.com/t",
                f"r2://lake@{ACCOUNT}.{where}.r2.cloudflarestorage.com/t/",
                f"{ACCOUNT}.{where}.r2.cloudflarestorage.com",
            )
            for where in ("eu", "fedramp")
        ),
    ],
)
def test_a_prefix_names_bucket_account_and_jurisdiction(given: str, prefix: str, host: str) -> None:
    config = R2Config(prefix=given, **KEYS)

    assert config.prefix == prefix
    assert config.bucket == Bucket("lake", ACCOUNT, host)
    assert config.origin == f"https://{host}"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({**LAKE, "prefix": "r2://lake/"}, "r2://bucket@account.r2.cloudflarestorage.com"),
        ({**LAKE, "prefix": "s3://lake/"}, "r2://bucket@account.r2.cloudflarestorage.com"),
        ({**LAKE, "prefix": f"r2://lake@{HOST}.example/"}, "r2://bucket@account"),
        (
            {**LAKE, "prefix": f"r2://lake@{ACCOUNT}.us.r2.cloudflarestorage.com/"},
            "r2://bucket@account",
        ),
        ({**LAKE, "prefix": "r2://lake@acme.r2.cloudflarestorage.com/"}, "32 hexadecimal digits"),
        ({**LAKE, "prefix": f"r2://La_ke@{HOST}/"}, "not the name of an R2 bucket"),
        ({**LAKE, "prefix": f"r2://@{HOST}/"}, "not the name of an R2 bucket"),
        ({"prefix": LAKE["prefix"], "access_key_id": "key"}, "secret_access_key"),
        ({**LAKE, "vending": "api"}, "set both"),
        ({**LAKE, "vending": "local", "api_token": "hush-hush"}, "set both"),
        ({**LAKE, "api_token": "hush-hush"}, "set both"),
        ({**LAKE, "vending": "other"}, "vending"),
        ({**LAKE, "endpoint": "store.example:9000"}, "endpoint"),
        ({**LAKE, "endpoint": "https://user:hush-hush@store.example"}, "endpoint"),
        ({**LAKE, "api_endpoint": "api.cloudflare.com"}, "api_endpoint"),
        ({**LAKE, "region": "auto"}, "region"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        R2Config(**settings)

    assert complaint in str(refused.value)
    assert "hush-hush" not in str(refused.value)


def test_a_secret_is_not_shown() -> None:
    config = R2Config(**LAKE, vending="api", api_token="hush-hush")

    assert "hush-hush" not in repr(config)
    assert "hush-hush" not in config.model_dump_json()


def test_every_setting_is_described() -> None:
    undescribed = [name for name, field in R2Config.model_fields.items() if not field.description]

    assert undescribed == []
