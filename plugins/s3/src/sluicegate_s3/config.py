"""Configuration of one S3 storage."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from sluicegate.api import SecretStr, StorageConfig
from sluicegate_s3.address import (
    BucketAddress,
    aws_endpoint,
    bucket_of,
    canonical_endpoint,
    canonical_prefix,
    fits_virtual_host,
)
from sluicegate_s3.vending_config import ExternalId, RoleArn, VendingConfig

Endpoint = Annotated[str, AfterValidator(canonical_endpoint)]

_STORE_DEFAULT_REGION = "us-east-1"
_READING_ROLE_ONLY = frozenset(("role_session_name", "role_session_duration", "external_id"))
_TOKEN_SERVICE_ONLY = frozenset(("sts_endpoint", "sts_region"))


class S3Config(StorageConfig):
    """A bucket, or a directory of it, and the credentials that read it.

    Credentials are the static key, the named profile, or else whatever botocore finds (environment,
    shared files, web identity, container and instance roles). With `role_arn`, those only assume
    the role, and its sessions read the bucket.
    """

    # A refused combination would otherwise print the whole input, secrets included.
    model_config = ConfigDict(hide_input_in_errors=True)

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The locations served: s3://bucket/ or s3://bucket/directory/ (s3a and s3n alike).",
        examples=["s3://acme-lake/"],
    )
    region: str | None = Field(
        default=None,
        min_length=1,
        description="The bucket's region. Required on AWS; us-east-1 by default with an endpoint.",
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of another store than AWS: scheme, host and port.",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in presigned URLs, where recipients reach the store by another name.",
    )
    path_style: bool | None = Field(
        default=None,
        description="Bucket in the path instead of the host name. By default with an endpoint, and "
        "where the bucket's name does not fit a host name.",
    )
    access_key_id: str | None = Field(default=None, min_length=1, description="Static access key.")
    secret_access_key: SecretStr | None = Field(default=None, description="Secret of the static key.")
    session_token: SecretStr | None = Field(
        default=None, description="Session token of the static key, where it is a temporary one."
    )
    profile: str | None = Field(
        default=None, min_length=1, description="Profile of the shared AWS configuration files."
    )
    role_arn: RoleArn | None = Field(
        default=None,
        description="Role to assume for reading; sessions are renewed at half of their life.",
    )
    role_session_name: str = Field(
        default="sluicegate",
        pattern=r"^[\w+=,.@-]{2,64}$",
        description="Session name, as it appears in the store's logs.",
    )
    role_session_duration: int = Field(
        default=3600,
        ge=900,
        le=43_200,
        description="Seconds that a session lives; presigned URLs die with it.",
    )
    external_id: ExternalId | None = Field(
        default=None, description="External id that the role's trust policy asks for."
    )
    sts_endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the token service; required for roles and sessions with an endpoint, else "
        "the region's.",
    )
    sts_region: str | None = Field(
        default=None, min_length=1, description="Region of the token service; the bucket's if unset."
    )
    kms_key_arn: str | None = Field(
        default=None,
        pattern=r"^arn:[^:]+:kms:[^:]+:[^:]*:key/[^*?]+$",
        description="Key of KMS that the objects are encrypted with; vended credentials may decrypt "
        "with it.",
    )
    vending: VendingConfig | None = Field(
        default=None,
        description="Vend temporary credentials for directories, and how; without it, only URLs.",
    )

    @model_validator(mode="after")
    def _refuse_what_does_not_go_together(self) -> Self:
        if self.region is None and self.endpoint is None:
            raise ValueError(
                "region is missing: set the bucket's region, or the endpoint of another store"
            )
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("access_key_id and secret_access_key are set together, or neither is")
        if self.session_token is not None and self.access_key_id is None:
            raise ValueError(
                "session_token belongs to a static key: set access_key_id and secret_access_key"
            )
        if self.profile is not None and self.access_key_id is not None:
            raise ValueError("profile and access_key_id exclude each other: remove one")
        self._check_role()
        self._check_style()
        return self

    def _check_role(self) -> None:
        asks = self.role_arn is not None or bool(self._vended - {"full"})
        reading = set() if self.role_arn is not None else _READING_ROLE_ONLY
        stray = reading | (set() if asks else _TOKEN_SERVICE_ONLY)
        found = sorted(stray & self.model_fields_set)
        if found:
            raise ValueError(f"{', '.join(found)} without role_arn: set role_arn, or remove this")
        if "role" in self._vended and self.role_arn is None and self._vending_role_arn is None:
            raise ValueError("vending by role needs a role: set vending.role_arn, or role_arn")
        if asks and self.endpoint is not None and self.sts_endpoint is None:
            raise ValueError(
                "role_arn with an endpoint needs sts_endpoint (for many stores the same URL)"
            )

    @property
    def _vended(self) -> frozenset[str]:
        return frozenset() if self.vending is None else self.vending.bindings

    @property
    def _vending_role_arn(self) -> str | None:
        return None if self.vending is None else self.vending.role_arn

    def _check_style(self) -> None:
        if self.path_style is False and not fits_virtual_host(self.bucket, self._public_endpoint):
            raise ValueError(
                f"path_style: false cannot work: {self.bucket!r} does not fit a host name; remove it"
            )

    @property
    def bucket(self) -> str:
        """The bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def signing_region(self) -> str:
        """The region that requests are signed for."""
        return self.region or _STORE_DEFAULT_REGION

    @property
    def address(self) -> BucketAddress:
        """Where the gateway itself reaches the bucket."""
        return self._address(self._endpoint)

    @property
    def public_address(self) -> BucketAddress:
        """Where recipients reach the bucket."""
        return self._address(self._public_endpoint)

    @property
    def _endpoint(self) -> str:
        return self.endpoint or aws_endpoint(self.signing_region)

    @property
    def _public_endpoint(self) -> str:
        return self.public_endpoint or self._endpoint

    @property
    def uses_path_style(self) -> bool:
        """Whether the bucket is in the path of URLs."""
        if self.path_style is not None:
            return self.path_style
        return self.endpoint is not None or not fits_virtual_host(self.bucket, self._endpoint)

    def _address(self, endpoint: str) -> BucketAddress:
        return BucketAddress.of(self.bucket, endpoint, path_style=self.uses_path_style)
