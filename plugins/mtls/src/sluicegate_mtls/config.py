"""Configuration of the authenticator type `mtls`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sluicegate.api import PluginConfig

Identity = Literal["common_name", "dns_name", "uri", "email", "subject", "fingerprint"]
Words = Annotated[str, StringConstraints(min_length=1)]


class MtlsConfig(PluginConfig):
    """Recipients that authenticate by a client certificate."""

    identity: Identity = Field(
        default="common_name",
        description="The part of the certificate that identifies the recipient. There must be "
        "exactly one of this kind.",
    )
    issuers: tuple[Words, ...] | None = Field(
        default=None,
        description="Subjects (RFC 4514) of the authorities whose certificates identify recipients. "
        "If unset, every authority that the gateway or the proxy trusts.",
        examples=[["CN=Recipients,O=Example Corp"]],
    )
    recipients: dict[Words, Words] | None = Field(
        default=None,
        description="Recipient by identity. If unset, the identity is the name of the recipient.",
    )
