"""Configuration of an R2 storage."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import SecretStr, StorageConfig
from sluicegate_r2.address import Bucket, bucket_of, canonical_prefix

Endpoint = Annotated[
    str, StringConstraints(pattern=r"^https?://[^/?#@]+$"), AfterValidator(lambda url: url.lower())
]


class R2Config(StorageConfig):
    """A bucket, or a directory of it, and the R2 token that reads it.

    The prefix determines account and jurisdiction. The token's keys sign URLs and read tables. With
    `vending`, recipients with directory access get temporary credentials that are derived from the
    keys: signed locally (`local`: no request), or issued by Cloudflare (`api`).
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The location to serve: r2://bucket@account.r2.cloudflarestorage.com/ or a "
        "directory of it. A jurisdiction's host (account.eu.r2.…, account.fedramp.r2.…) "
        "is also supported.",
        examples=["r2://lake@0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/"],
    )
    access_key_id: str = Field(min_length=1, description="Access key id of an R2 API token.")
    secret_access_key: SecretStr = Field(description="Its secret access key.")
    vending: Literal["local", "api"] | None = Field(
        default=None,
        description="How temporary credentials for recipients are created. Default: none are issued.",
    )
    api_token: SecretStr | None = Field(
        default=None,
        description="Cloudflare API token that can edit R2 storage. Required with vending: api.",
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the S3 API, if it is not the account's own: scheme, host and port.",
    )
    api_endpoint: Annotated[str, StringConstraints(pattern=r"^https?://[^?#@]+[^/?#@]$")] = Field(
        default="https://api.cloudflare.com/client/v4", description="URL of Cloudflare's API."
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if (self.vending == "api") != (self.api_token is not None):
            raise ValueError("set both vending: api and api_token, or neither")
        return self

    @property
    def bucket(self) -> Bucket:
        """Return the bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def origin(self) -> str:
        """Return scheme, host and port of the S3 API."""
        return self.endpoint or f"https://{self.bucket.host}"
