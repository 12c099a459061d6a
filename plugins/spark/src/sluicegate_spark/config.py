"""Configuration of the task executor `spark`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import PluginConfig, SecretStr
from sluicegate_iceberg.config import IcebergConfig

_FILE_SYSTEMS = "spark.hadoop.fs."


def _master(value: str) -> str:
    if not re.match(r"(local($|\[)|yarn$|spark://.|k8s://.)", value):
        raise ValueError("expected local[*], spark://host:7077, yarn or k8s://https://host:6443")
    return value


def _remote(value: str) -> str:
    if not re.fullmatch(r"sc://\S+", value):
        raise ValueError("expected sc://host:15002")
    return value


CatalogName = Annotated[str, StringConstraints(min_length=1, max_length=255)]

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class SparkConfig(PluginConfig):
    """Where tasks run, and the catalogs that their tables are in.

    The service is a principal of these catalogs, and one that may write: what it loads a table with is
    what it deletes files and commits with.
    """

    master: Annotated[str, AfterValidator(_master)] = Field(
        default="local[*]",
        description="Spark's master: `local[*]` in the worker itself, `spark://host:7077`, `yarn`, "
        "`k8s://https://host:6443`.",
    )
    remote: Annotated[str, AfterValidator(_remote)] | None = Field(
        default=None,
        description="A Spark Connect server instead of a master, `sc://host:15002`; the jars are then "
        "the server's.",
    )
    jars: str | None = Field(
        default=None,
        min_length=1,
        description="Folder with the jars of Iceberg, Delta Lake and the object stores.",
    )
    packages: tuple[str, ...] = Field(
        default=(),
        description="The same as Maven coordinates, which Spark fetches when it starts.",
    )
    conf: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        description="Settings of Spark, by their own names; they win over the executor's.",
    )
    environment: frozenset[VariableName] = Field(
        default=frozenset(),
        description="Further environment variables that Spark's processes on this machine get.",
    )
    catalogs: Mapping[CatalogName, IcebergConfig] = Field(
        default_factory=dict,
        description="Iceberg REST catalogs, by the `catalog_name` of tasks; each with the keys of the "
        "catalog type `iceberg`.",
    )

    @property
    def reaches_storage(self) -> bool:
        """Whether Spark is configured with a way to tables that no credentials come for."""
        return any(name.startswith(_FILE_SYSTEMS) for name in self.conf)

    @model_validator(mode="after")
    def _refuse_two_clusters(self) -> Self:
        local = sorted({"master", "jars", "packages", "environment"} & self.model_fields_set)
        if self.remote is not None and local:
            raise ValueError(
                f"remote and {local[0]} exclude each other: the Spark Connect server has its own"
            )
        if self.jars is not None and self.packages:
            raise ValueError("jars and packages exclude each other: set one of them")
        return self
