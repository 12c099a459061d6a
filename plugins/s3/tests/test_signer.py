from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import botocore.auth
import botocore.session
import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotocoreCredentials
from botocore.utils import percent_encode
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.api import ObjectRequest, quote_keys, url_label
from sluicegate_s3.address import BucketAddress
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials
from sluicegate_s3.signer import Presigner
from sluicegate_testing.object_names import NAMES_TO_SIGN

AT = 1_767_225_599  # the last second of 2025
TOKEN = "IQoJb3JpZ2luX2VjE" + "ab+/" * 200 + "=="
STATIC = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
SESSION = Credentials("ASIAIOSFODNN7EXAMPLE", "secret/of+a=session", TOKEN, 1_767_229_199_000)
VIRTUAL_HOST = BucketAddress("https://lake.s3.eu-west-1.amazonaws.com", "/")
PATH_STYLE = BucketAddress("http://127.0.0.1:9000", "/lake/")


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        botocore.auth,
        "get_current_datetime",
        lambda: datetime.fromtimestamp(AT, UTC).replace(tzinfo=None),
    )


def signed_by_botocore(
    address: BucketAddress,
    region: str,
    credentials: Credentials,
    key: str,
    expires_in: int,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    query: str = "",
) -> str:
    signer: Any = S3SigV4QueryAuth(
        BotocoreCredentials(
            credentials.access_key_id, credentials.secret_access_key, credentials.session_token
        ),
        "s3",
        region,
        expires=expires_in,
    )
    request: Any = AWSRequest(
        method=method,
        headers=headers,
        url=f"{address.origin}{address.path}{percent_encode(key, safe='/~')}?{query}".removesuffix("?"),
    )
    signer.add_auth(request)
    return str(request.url)


@pytest.mark.parametrize("key", NAMES_TO_SIGN)
@pytest.mark.parametrize("address", [VIRTUAL_HOST, PATH_STYLE])
@pytest.mark.parametrize("credentials", [STATIC, SESSION])
async def test_a_url_equals_botocores_byte_for_byte(
    key: str, address: BucketAddress, credentials: Credentials
) -> None:
    (url,) = await Presigner(address, "eu-west-1", credentials).sign([key], AT, 900)

    assert url == signed_by_botocore(address, "eu-west-1", credentials, key, 900)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5))
@settings(deadline=None)
async def test_any_keys_are_signed_as_botocore_signs_them(keys: list[str]) -> None:
    urls = await Presigner(VIRTUAL_HOST, "eu-west-1", SESSION).sign(keys, AT, 604_800)

    assert urls == [
        signed_by_botocore(VIRTUAL_HOST, "eu-west-1", SESSION, key, 604_800) for key in keys
    ]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("credentials", [STATIC, SESSION])
async def test_a_url_for_a_request_equals_botocores(
    method: Literal["GET", "HEAD"], credentials: Credentials
) -> None:
    headers = {
        "x-amz-request-payer": "requester",
        "x-amz-checksum-mode": "ENABLED",
        "range": "bytes=0-",
    }
    request = ObjectRequest(method, headers)
    (url,) = await Presigner(VIRTUAL_HOST, "eu-west-1", credentials).sign(["a b"], AT, 900, request)

    signed = {name: value for name, value in headers.items() if name.startswith("x-amz-")}
    assert url == signed_by_botocore(VIRTUAL_HOST, "eu-west-1", credentials, "a b", 900, method, signed)


@pytest.mark.parametrize("credentials", [STATIC, SESSION])
async def test_a_label_is_signed_and_the_same_in_all_urls(credentials: Credentials) -> None:
    signer = Presigner(PATH_STYLE, "eu-west-1", credentials)
    first, second = url_label(str(uuid4())), url_label(str(uuid4()))
    urls = await signer.sign(["a b", "c"], AT, 900, ObjectRequest(label=first))
    urls += await signer.sign(["c"], AT, 900, ObjectRequest(label=second))
    urls += await signer.sign(["c"], AT, 900)

    labels = [first, first, second, None]
    for url, key, label in zip(urls, ["a b", "c", "c", "c"], labels, strict=True):
        query = "" if label is None else f"x-offer={label}"
        theirs = signed_by_botocore(PATH_STYLE, "eu-west-1", credentials, key, 900, query=query)
        assert parse_qsl(urlsplit(url).query) == sorted(parse_qsl(urlsplit(theirs).query), key=_place)
    assert len(urls[1]) - len(urls[3]) == len("&x-offer=") + 22


def _place(parameter: tuple[str, str]) -> int:
    """Where the signer puts a parameter that botocore puts first or last."""
    return {"x-offer": 1, "X-Amz-Signature": 2}.get(parameter[0], 0)


async def test_a_batch_keeps_its_order_and_quotes_each_key_for_itself() -> None:
    urls = await Presigner(VIRTUAL_HOST, "eu-west-1", STATIC).sign(NAMES_TO_SIGN, AT, 60)

    assert urls == [
        signed_by_botocore(VIRTUAL_HOST, "eu-west-1", STATIC, key, 60) for key in NAMES_TO_SIGN
    ]


async def test_a_signer_follows_the_day_and_its_signing_key() -> None:
    signer = Presigner(VIRTUAL_HOST, "eu-west-1", STATIC)
    (before,) = await signer.sign(["a"], AT - 86_400, 60)
    (again,) = await signer.sign(["a"], AT, 60)

    assert before != again
    assert again == signed_by_botocore(VIRTUAL_HOST, "eu-west-1", STATIC, "a", 60)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([AT - 86_400, AT - 1, AT]),
            st.sampled_from([60, 900]),
            st.builds(
                ObjectRequest,
                st.sampled_from(["GET", "HEAD"]),
                st.sampled_from([{}, {"x-amz-checksum-mode": "ENABLED"}, {"x-amz-checksum-mode": "x"}]),
            ),
        )
    )
)
async def test_what_was_signed_before_changes_no_url(
    batches: list[tuple[int, int, ObjectRequest]],
) -> None:
    signer = Presigner(VIRTUAL_HOST, "eu-west-1", SESSION)
    for at, expires_in, request in [batch for each in batches for batch in (each, each)]:
        first = Presigner(VIRTUAL_HOST, "eu-west-1", SESSION)
        expected = await first.sign(["a b", "c"], at, expires_in, request)
        assert await signer.sign(["a b", "c"], at, expires_in, request) == expected


@pytest.mark.parametrize("address", [VIRTUAL_HOST, PATH_STYLE])
@pytest.mark.parametrize("request_", [ObjectRequest(), ObjectRequest("HEAD", label="label")])
async def test_signed_paths_are_the_urls_of_their_keys(
    address: BucketAddress, request_: ObjectRequest
) -> None:
    signer = Presigner(address, "eu-west-1", SESSION)
    paths = [quoted.encode() for quoted in quote_keys(NAMES_TO_SIGN)]
    signed = signer.sign_paths("tables/a b/", paths, AT, 900, request_)

    keys = [f"tables/a b/{name}" for name in NAMES_TO_SIGN]
    assert signed.urls(paths) == await signer.sign(keys, AT, 900, request_)
    assert signed.expires_at == (AT + 900) * 1000


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_quoting_many_keys_equals_quoting_each(keys: list[str]) -> None:
    assert quote_keys(keys) == [percent_encode(key, safe="/~") for key in keys]


@pytest.mark.parametrize(
    ("settings", "botocore_s3"),
    [
        ({"prefix": "s3://lake/", "region": "eu-west-1"}, {"addressing_style": "virtual"}),
        ({"prefix": "s3://lake/", "region": "cn-north-1"}, {}),
        ({"prefix": "s3://lake/", "region": "us-gov-west-1"}, {}),
        ({"prefix": "s3://lake/", "region": "us-east-1"}, {}),
        ({"prefix": "s3://lake.with.dots/", "region": "eu-west-1"}, {}),
        ({"prefix": "s3://Legacy_Bucket/", "region": "us-east-1"}, {}),
        (
            {"prefix": "s3://lake/", "region": "eu-west-1", "path_style": True},
            {"addressing_style": "path"},
        ),
        (
            {"prefix": "s3://lake/", "endpoint": "http://store.example:9000"},
            {"addressing_style": "path"},
        ),
        (
            {"prefix": "s3://lake/", "endpoint": "https://store.example", "path_style": False},
            {"addressing_style": "virtual"},
        ),
    ],
)
async def test_a_bucket_is_addressed_as_botocores_client_does(
    settings: dict[str, Any], botocore_s3: dict[str, str]
) -> None:
    config = S3Config(**settings)
    client = botocore.session.Session().create_client(
        "s3",
        region_name=config.signing_region,
        endpoint_url=config.endpoint,
        aws_access_key_id=STATIC.access_key_id,
        aws_secret_access_key=STATIC.secret_access_key,
        config=Config(
            signature_version="s3v4",
            s3={"us_east_1_regional_endpoint": "regional", **botocore_s3},
        ),
    )
    expected = client.generate_presigned_url(
        "get_object", Params={"Bucket": config.bucket, "Key": "a b/ü"}, ExpiresIn=60
    )

    (url,) = await Presigner(config.public_address, config.signing_region, STATIC).sign(
        ["a b/ü"], AT, 60
    )

    assert url == expected
