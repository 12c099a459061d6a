"""Configuration of the policy type `cedar`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sluicegate.api import PluginConfig


class CedarConfig(PluginConfig):
    """Files with Cedar policies. They are loaded at startup, and again when they change."""

    policy_files: tuple[Path, ...] = Field(
        min_length=1,
        description="Files with policies. Together, they are one set of policies.",
        examples=[["/etc/sluicegate/policies.cedar"]],
    )
    schema_file: Path | None = Field(
        default=None,
        description="File with a Cedar schema to which the policies must conform, as Cedar text or, if "
        "its name ends in `.json`, as JSON. Default: the schema of the entities that the gateway "
        "provides.",
    )
