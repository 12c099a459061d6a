"""Entry point of the plugin `cedar`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import PolicyType, hookimpl
from sluicegate_cedar.config import CedarConfig
from sluicegate_cedar.policy import CedarPolicy

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_policies() -> Sequence[PolicyType]:
    """Return the policy type `cedar`."""
    return [PolicyType("cedar", CedarConfig, CedarPolicy.configured)]
