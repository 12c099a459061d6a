"""Configuration of one R2 storage."""

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

    Account and jurisdiction are those of the prefix. The token's keys sign URLs and read tables. With
    `vending`, recipients with directory access get temporary credentials made from them: signed here
    (`local`: no call), or given by Cloudflare (`api`).
    """

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The locations served: r2://bucket@account.r2.cloudflarestorage.com/ or a "
        "directory of it; a jurisdiction's host (account.eu.r2.…, account.fedramp.r2.…) alike.",
        examples=["r2://lake@0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/"],
    )
    access_key_id: str = Field(min_length=1, description="Access key id of an R2 API token.")
    secret_access_key: SecretStr = Field(description="Its secret access key.")
    vending: Literal["local", "api"] | None = Field(
        default=None,
        description="How temporary credentials for recipients are made; none are given if unset.",
    )
    api_token: SecretStr | None = Field(
        default=None,
        description="Cloudflare API token that may edit R2 storage; required with vending: api.",
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the S3 API, where it is not the account's own: scheme, host and port.",
    )
    api_endpoint: Annotated[str, StringConstraints(pattern=r"^https?://[^?#@]+[^/?#@]$")] = Field(
        default="https://api.cloudflare.com/client/v4", description="URL of Cloudflare's API."
    )

    @model_validator(mode="after")
    def _refuse_what_does_not_go_together(self) -> Self:
        if (self.vending == "api") != (self.api_token is not None):
            raise ValueError("vending: api and api_token are set together, or neither is")
        return self

    @property
    def bucket(self) -> Bucket:
        """The bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def origin(self) -> str:
        """Scheme, host and port of the S3 API."""
        return self.endpoint or f"https://{self.bucket.host}"
