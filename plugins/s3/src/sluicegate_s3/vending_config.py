"""Configuration of how an S3 storage vends credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import PluginConfig
from sluicegate_s3.address import canonical_endpoint

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
