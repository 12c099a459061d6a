"""Configuration of how one S3 storage vends credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import PluginConfig
from sluicegate_s3.address import canonical_endpoint

RoleArn = Annotated[str, StringConstraints(pattern=r"^arn:[^:]+:iam::[^:]*:role/.+$")]
ExternalId = Annotated[str, StringConstraints(min_length=2, max_length=1224)]
TagKey = Annotated[str, StringConstraints(pattern=r"^[\w ./=+\-@]{1,128}$")]
TagSource = Annotated[str, StringConstraints(pattern=r"^(id|name|properties\..+)$")]


class VendingConfig(PluginConfig):
    """How recipients get temporary credentials: by default sessions of a role, limited to a table.

    The bindings `session` and `full` (s3a-delegation-tokens.md) give away all that the gateway's own
    credentials may do; they work only where they are named here, and `full`, which never ends, only
    for who asks for it by name.
    """

    known_bindings: ClassVar[tuple[str, ...]] = ("role", "session", "full")

    binding: str = Field(
        default="role",
        description="How credentials are made where nothing else is asked for: `role` or `session`.",
    )
    allowed_bindings: tuple[str, ...] = Field(
        default=(),
        description="Further bindings that may be asked for by name: `role`, `session`, `full`.",
    )
    role_arn: RoleArn | None = Field(
        default=None, description="Role whose sessions recipients get; the storage's if unset."
    )
    external_id: ExternalId | None = Field(
        default=None,
        description="External id for that role; the storage's if unset, where the roles are one.",
    )
    role_chaining: bool = Field(
        default=False,
        description="The gateway may assume the role though it has only a session itself (an instance "
        "or container role); such sessions live for an hour at most.",
    )
    duration: int = Field(
        default=3600, ge=900, le=43_200, description="Seconds that credentials live at most."
    )
    session_tags: Mapping[TagKey, TagSource] = Field(
        default={},
        description="Tags of a role's sessions, each from `id`, `name` or `properties.<property>` of "
        "the recipient.",
        max_length=50,
    )
    transitive_tags: bool = Field(
        default=False, description="The tags stay along further roles that a recipient assumes."
    )
    source_identity: bool = Field(
        default=False, description="A role's sessions carry the recipient as their source identity."
    )
    revoke: Literal["put", "print"] = Field(
        default="put",
        description="Ending a recipient's sessions puts a policy on the role, or prints it.",
    )
    iam_endpoint: Annotated[str, AfterValidator(canonical_endpoint)] | None = Field(
        default=None,
        description="URL of the service that takes role policies; AWS's if unset, and with an "
        "endpoint none.",
    )

    @model_validator(mode="after")
    def _refuse_unknown_bindings(self) -> Self:
        unknown = sorted(self.bindings.difference(self.known_bindings))
        if unknown:
            raise ValueError(
                f"unknown binding {', '.join(unknown)}: use {', '.join(self.known_bindings)}"
            )
        if self.binding == "full":
            raise ValueError("binding cannot be full: add it to allowed_bindings, for who asks for it")
        return self

    @property
    def bindings(self) -> frozenset[str]:
        """Every binding that credentials may be made by."""
        return frozenset((self.binding, *self.allowed_bindings))
