"""Configuration of an S3 storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from sluicegate.api import PluginConfig, SecretStr, StorageConfig
from sluicegate_s3.address import (
    BucketAddress,
    aws_endpoint,
    bucket_of,
    canonical_endpoint,
    canonical_prefix,
    fits_virtual_host,
)

RoleArn = Annotated[str, StringConstraints(pattern=r"^arn:[^:]+:iam::[^:]*:role/.+$")]
ExternalId = Annotated[str, StringConstraints(min_length=2, max_length=1224)]
# The length is not part of the pattern, because `\w{1,128}` takes 10 MB of memory when compiled.
TagKey = Annotated[str, StringConstraints(max_length=128, pattern=r"^[\w ./=+\-@]+$")]
TagSource = Annotated[str, StringConstraints(pattern=r"^(id|name|properties\..+)$")]


class VendingConfig(PluginConfig):
    """How recipients get temporary credentials. Default: sessions of a role, limited to a table.

    The bindings `session` and `full` (S3A token architecture) grant all permissions of the gateway's
    own credentials. They work only if they are named here. `full`, which never expires, must also be
    requested by name.
    """

    known_bindings: ClassVar[tuple[str, ...]] = ("role", "session", "full")

    binding: str = Field(
        default="role",
        description="How credentials are created unless another way is requested: `role` or `session`.",
    )
    allowed_bindings: tuple[str, ...] = Field(
        default=(),
        description="Additional bindings that can be requested by name: `role`, `session`, `full`.",
    )
    role_arn: RoleArn | None = Field(
        default=None, description="Role whose sessions recipients get. Default: the storage's role."
    )
    external_id: ExternalId | None = Field(
        default=None,
        description="External id for that role. Default: the storage's, if the roles are the same.",
    )
    role_chaining: bool = Field(
        default=False,
        description="Allow the gateway to assume the role even if it has only a session itself (an "
        "instance or container role). Such sessions last at most an hour.",
    )
    duration: int = Field(
        default=3600, ge=900, le=43_200, description="Maximum lifetime of credentials in seconds."
    )
    session_tags: Mapping[TagKey, TagSource] = Field(
        default={},
        description="Tags of a role's sessions. Each comes from `id`, `name` or "
        "`properties.<property>` of the recipient.",
        max_length=50,
    )
    transitive_tags: bool = Field(
        default=False, description="Keep the tags if a recipient assumes further roles."
    )
    source_identity: bool = Field(
        default=False, description="Set the recipient as the source identity of a role's sessions."
    )
    revoke: Literal["put", "print"] = Field(
        default="put",
        description="Ending a recipient's sessions puts a policy on the role, or prints it.",
    )
    iam_endpoint: Annotated[str, AfterValidator(canonical_endpoint)] | None = Field(
        default=None,
        description="URL of the service that manages role policies. Default: AWS's; none with an "
        "endpoint.",
    )

    @model_validator(mode="after")
    def _check_bindings(self) -> Self:
        unknown = sorted(self.bindings.difference(self.known_bindings))
        if unknown:
            raise ValueError(
                f"unknown binding {', '.join(unknown)}: use {', '.join(self.known_bindings)}"
            )
        if self.binding == "full":
            raise ValueError(
                "binding cannot be full: to permit clients to request it by name, add it to "
                "allowed_bindings"
            )
        return self

    @property
    def bindings(self) -> frozenset[str]:
        """Return every binding with which credentials can be created."""
        return frozenset((self.binding, *self.allowed_bindings))


Endpoint = Annotated[str, AfterValidator(canonical_endpoint)]

_STORE_DEFAULT_REGION = "us-east-1"
_READING_ROLE_ONLY = frozenset(("role_session_name", "role_session_duration", "external_id"))
_TOKEN_SERVICE_ONLY = frozenset(("sts_endpoint", "sts_region"))


class S3Config(StorageConfig):
    """A bucket, or a directory of it, and the credentials that read it.

    Credentials are the static key, the named profile, or else the result of botocore's chain
    (environment, shared files, web identity, container and instance roles). With `role_arn`, they are
    only used to assume the role, whose sessions read the bucket.
    """

    # Otherwise, validation errors would print the entire input, including secrets.
    model_config = ConfigDict(hide_input_in_errors=True)

    prefix: Annotated[str, AfterValidator(canonical_prefix)] = Field(
        description="The location to serve: s3://bucket/ or s3://bucket/directory/. The schemes s3a "
        "and s3n are equivalent.",
        examples=["s3://acme-lake/"],
    )
    region: str | None = Field(
        default=None,
        min_length=1,
        description="The bucket's region. Required on AWS. Default with an endpoint: us-east-1.",
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of a store other than AWS: scheme, host and port.",
    )
    public_endpoint: Endpoint | None = Field(
        default=None,
        description="The endpoint in presigned URLs, if recipients use a different one.",
    )
    path_style: bool | None = Field(
        default=None,
        description="Put the bucket's name in the path instead of the host name. Default: true with "
        "an endpoint, or if the bucket's name can't be part of a host name.",
    )
    label_urls: bool = Field(
        default=False,
        description="Add a label to presigned URLs, by which `COLLECT_USAGE` finds the response behind "
        "each line of an access log. The store must ignore query parameters that begin with `x-`, as "
        "Amazon S3 does.",
    )
    access_key_id: str | None = Field(default=None, min_length=1, description="Static access key.")
    secret_access_key: SecretStr | None = Field(default=None, description="Secret of the static key.")
    session_token: SecretStr | None = Field(
        default=None, description="Session token of the static key, if the key is temporary."
    )
    profile: str | None = Field(
        default=None, min_length=1, description="Profile of the shared AWS configuration files."
    )
    role_arn: RoleArn | None = Field(
        default=None,
        description="Role to assume for reading. Sessions are renewed after half of their lifetime.",
    )
    role_session_name: str = Field(
        default="sluicegate",
        # The length is not part of the pattern, because `\w{2,64}` takes 5 MB when compiled.
        min_length=2,
        max_length=64,
        pattern=r"^[\w+=,.@-]+$",
        description="Session name, as it appears in the store's logs.",
    )
    role_session_duration: int = Field(
        default=3600,
        ge=900,
        le=43_200,
        description="Lifetime of a session in seconds. Presigned URLs expire with their session.",
    )
    external_id: ExternalId | None = Field(
        default=None, description="External id that the role's trust policy requires."
    )
    sts_endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the token service. Required for roles and sessions with an endpoint. "
        "Default: that of the region.",
    )
    sts_region: str | None = Field(
        default=None,
        min_length=1,
        description="Region of the token service. Default: the bucket's region.",
    )
    kms_key_arn: str | None = Field(
        default=None,
        pattern=r"^arn:[^:]+:kms:[^:]+:[^:]*:key/[^*?]+$",
        description="KMS key that encrypts the objects. Vended credentials are permitted to decrypt "
        "with it.",
    )
    vending: VendingConfig | None = Field(
        default=None,
        description="How to vend temporary credentials for directories. Default: recipients only get "
        "URLs.",
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.region is None and self.endpoint is None:
            raise ValueError(
                "region is missing: set the bucket's region, or the endpoint of another store"
            )
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("set both access_key_id and secret_access_key, or neither")
        if self.session_token is not None and self.access_key_id is None:
            raise ValueError(
                "session_token requires a static key: set access_key_id and secret_access_key"
            )
        if self.profile is not None and self.access_key_id is not None:
            raise ValueError("profile and access_key_id are mutually exclusive: remove one")
        self._check_role()
        self._check_style()
        return self

    def _check_role(self) -> None:
        asks = self.role_arn is not None or bool(self._vended - {"full"})
        reading = set() if self.role_arn is not None else _READING_ROLE_ONLY
        stray = reading | (set() if asks else _TOKEN_SERVICE_ONLY)
        found = sorted(stray & self.model_fields_set)
        if found:
            raise ValueError(
                f"{', '.join(found)} requires role_arn: set role_arn, or remove the setting"
            )
        if "role" in self._vended and self.role_arn is None and self._vending_role_arn is None:
            raise ValueError("the binding 'role' requires a role: set vending.role_arn or role_arn")
        if asks and self.endpoint is not None and self.sts_endpoint is None:
            raise ValueError(
                "role_arn with an endpoint requires sts_endpoint: set it (for many stores, to the "
                "same URL)"
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
                f"path_style: false is not possible, because the bucket {self.bucket!r} cannot be "
                "part of a host name: remove path_style"
            )

    @property
    def bucket(self) -> str:
        """Return the bucket of `prefix`."""
        return bucket_of(self.prefix)

    @property
    def signing_region(self) -> str:
        """Return the region for request signatures."""
        return self.region or _STORE_DEFAULT_REGION

    @property
    def address(self) -> BucketAddress:
        """Return the address of the bucket for the gateway itself."""
        return self._address(self._endpoint)

    @property
    def public_address(self) -> BucketAddress:
        """Return the address of the bucket for recipients."""
        return self._address(self._public_endpoint)

    @property
    def _endpoint(self) -> str:
        return self.endpoint or aws_endpoint(self.signing_region)

    @property
    def _public_endpoint(self) -> str:
        return self.public_endpoint or self._endpoint

    @property
    def uses_path_style(self) -> bool:
        """Return whether the bucket is in the path of URLs."""
        if self.path_style is not None:
            return self.path_style
        return self.endpoint is not None or not fits_virtual_host(self.bucket, self._endpoint)

    def _address(self, endpoint: str) -> BucketAddress:
        return BucketAddress.of(self.bucket, endpoint, path_style=self.uses_path_style)
