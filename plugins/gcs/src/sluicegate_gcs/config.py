"""Configuration of one Google Cloud Storage."""

from __future__ import annotations

import json
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import SecretStr, StorageConfig
from sluicegate_gcs.address import bucket_of, canonical_endpoint, canonical_prefix

Endpoint = Annotated[str, AfterValidator(canonical_endpoint)]

_ENDPOINT = "https://storage.googleapis.com"
_KEY_FIELDS = ("client_email", "private_key", "token_uri")


def _service_account_key(value: SecretStr) -> SecretStr:
    try:
        key = json.loads(value.get_secret_value())
    except ValueError:
        key = None
    if not isinstance(key, dict) or key.get("type") != "service_account":
        # The parser's own words quote what they could not read.
        raise ValueError(
            "must be the JSON of a service account key; to read it from a file, write {file: PATH}"
        ) from None
    missing = [name for name in _KEY_FIELDS if not isinstance(key.get(name), str)]
    if missing:
        raise ValueError(f"lacks {', '.join(missing)}: give the key as Google wrote it")
    return value


class GCSConfig(StorageConfig):
    """A bucket, or a directory of it, and who reads it and signs its URLs.

    The gateway reads as the service account whose key is configured, else with application default
    credentials (workload identity, the metadata server, a file that the environment names). URLs are
    signed by the HMAC key if there is one, else by the service account's key, else by the IAM
    credentials API in the name of a service account, which costs one call for each URL.
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The locations served: gs://bucket/ or gs://bucket/directory/ (gcs:// alike).",
        examples=["gs://acme-lake/"],
    )
    service_account_key: Annotated[SecretStr, AfterValidator(_service_account_key)] | None = Field(
        default=None,
        description="JSON of a service account key: {file: PATH}. Without it, application default "
        "credentials.",
    )
    service_account_email: str | None = Field(
        default=None,
        pattern=r"^[^@\s/]+@[^@\s/]+$",
        description="Service account in whose name the IAM credentials API signs, where there is no "
        "key; by default the one that the gateway runs as.",
    )
    hmac_access_id: str | None = Field(
        default=None, min_length=1, description="Access id of an HMAC key, which then signs URLs."
    )
    hmac_secret: SecretStr | None = Field(default=None, description="Secret of the HMAC key.")
    vending: bool = Field(
        default=False,
        description="Recipients with directory access get tokens that are limited to their tables' "
        "directories.",
    )
    endpoint: Endpoint = Field(
        default=_ENDPOINT,
        description="URL of the store, for private endpoints and emulators: scheme, host and port.",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in signed URLs, where recipients reach the store by another name; "
        "endpoint if unset.",
    )
    iam_endpoint: Endpoint = Field(
        default="https://iamcredentials.googleapis.com",
        description="URL of the IAM credentials API.",
    )
    sts_endpoint: Endpoint = Field(
        default="https://sts.googleapis.com",
        description="URL of the Security Token Service, which narrows tokens to a table.",
    )

    @model_validator(mode="after")
    def _refuse_what_does_not_go_together(self) -> Self:
        if (self.hmac_access_id is None) != (self.hmac_secret is None):
            raise ValueError("hmac_access_id and hmac_secret are set together, or neither is")
        if self.service_account_key is not None and self.service_account_email is not None:
            raise ValueError(
                "service_account_email is for signing without service_account_key: remove one of them"
            )
        return self

    @property
    def bucket(self) -> str:
        """The bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def public_origin(self) -> str:
        """Scheme, host and port of signed URLs."""
        return self.public_endpoint or self.endpoint

    @property
    def connection(self) -> dict[str, str]:
        """What recipients of tokens need beside them: the endpoint, where it is not Google's own."""
        return {} if self.public_origin == _ENDPOINT else {"endpoint": self.public_origin}
