"""Entry point of the plugin `opa`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import PolicyType, hookimpl
from sluicegate_opa.config import OpaConfig
from sluicegate_opa.policy import OpaPolicy

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_policies() -> Sequence[PolicyType]:
    """Return the policy type `opa`."""
    return [PolicyType("opa", OpaConfig, OpaPolicy.configured)]
