"""Entry point of the plugin `mtls`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import AuthenticatorType, hookimpl
from sluicegate_mtls.authenticator import MtlsAuthenticator
from sluicegate_mtls.config import MtlsConfig

sluicegate_api_version = "1.0"


@hookimpl
def sluicegate_register_authenticators() -> Sequence[AuthenticatorType]:
    """Return the authenticator type `mtls`."""
    return [AuthenticatorType("mtls", MtlsConfig, MtlsAuthenticator.configured)]
