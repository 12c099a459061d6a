"""Configuration of a Google Cloud Storage."""

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
        # The parser's message would quote the input, which is secret.
        raise ValueError(
            "must be the JSON of a service account key; to read it from a file, set {file: PATH}"
        ) from None
    missing = [name for name in _KEY_FIELDS if not isinstance(key.get(name), str)]
    if missing:
        raise ValueError(
            f"lacks {', '.join(missing)}: use the unmodified JSON file that Google created for the key"
        )
    return value


class GCSConfig(StorageConfig):
    """A bucket, or a directory of it, and the credentials to read it and to sign URLs.

    The gateway reads with the service account whose key is configured, or else with application
    default credentials (workload identity, the metadata server, a file that the environment names).
    URLs are signed with the HMAC key if there is one, else with the service account's key, else by
    the IAM credentials API on behalf of a service account, which takes one call per URL.
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The location to serve: gs://bucket/ or gs://bucket/directory/. The scheme gcs "
        "is equivalent.",
        examples=["gs://acme-lake/"],
    )
    service_account_key: Annotated[SecretStr, AfterValidator(_service_account_key)] | None = Field(
        default=None,
        description="JSON of a service account key: {file: PATH}. Default: application default "
        "credentials.",
    )
    service_account_email: str | None = Field(
        default=None,
        pattern=r"^[^@\s/]+@[^@\s/]+$",
        description="Service account on whose behalf the IAM credentials API signs if there is no "
        "key. Default: the one that the gateway runs as.",
    )
    hmac_access_id: str | None = Field(
        default=None, min_length=1, description="Access id of an HMAC key. If set, this key signs URLs."
    )
    hmac_secret: SecretStr | None = Field(default=None, description="Secret of the HMAC key.")
    vending: bool = Field(
        default=False,
        description="Issue tokens to recipients with directory access, limited to the directories of "
        "their tables.",
    )
    endpoint: Endpoint = Field(
        default=_ENDPOINT,
        description="URL of the store, for private endpoints and emulators: scheme, host and port.",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in signed URLs, if recipients use a different one. Default: "
        "endpoint.",
    )
    iam_endpoint: Endpoint = Field(
        default="https://iamcredentials.googleapis.com",
        description="URL of the IAM credentials API.",
    )
    sts_endpoint: Endpoint = Field(
        default="https://sts.googleapis.com",
        description="URL of the Security Token Service, which limits tokens to a table.",
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if (self.hmac_access_id is None) != (self.hmac_secret is None):
            raise ValueError("set both hmac_access_id and hmac_secret, or neither")
        if self.service_account_key is not None and self.service_account_email is not None:
            raise ValueError(
                "service_account_email and service_account_key are mutually exclusive: remove one"
            )
        return self

    @property
    def bucket(self) -> str:
        """Return the bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def public_origin(self) -> str:
        """Return scheme, host and port of signed URLs."""
        return self.public_endpoint or self.endpoint

    @property
    def connection(self) -> dict[str, str]:
        """Return connection settings for recipients: the endpoint, unless it is Google's own."""
        return {} if self.public_origin == _ENDPOINT else {"endpoint": self.public_origin}
