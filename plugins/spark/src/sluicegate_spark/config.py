"""Configuration of the task executor `spark`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import PluginConfig, SecretStr
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_spark.payload_config import endpoint, is_known


def _master(value: str) -> str:
    if not re.match(r"(local($|\[)|yarn$|spark://.|k8s://.)", value):
        raise ValueError("expected local[*], spark://host:7077, yarn or k8s://https://host:6443")
    return value


def _remote(value: str) -> str:
    if not re.fullmatch(r"sc://\S+", value):
        raise ValueError("expected sc://host:15002")
    return value


def _file_io(value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
    if unknown := [name for name in value if not is_known(name)]:
        raise ValueError(f"'{unknown[0]}' has no effect; expected keys such as s3.access-key-id")
    return value


Endpoint = Annotated[str, AfterValidator(endpoint)]
CatalogName = Annotated[str, StringConstraints(min_length=1, max_length=255)]

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class SparkCatalogConfig(IcebergConfig):
    """A catalog of the executor, and what opens its tables where it vends nothing itself."""

    file_io: Annotated[Mapping[str, SecretStr], AfterValidator(_file_io)] = Field(
        default_factory=dict,
        description="Credentials for the catalog's tables, where it vends none and none come with the "
        "task: `s3.access-key-id`, `s3.secret-access-key`, `adls.sas-token.<account>` and the like.",
    )


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
    endpoints: tuple[Endpoint, ...] = Field(
        default=(),
        description="Stores that the `config` of tasks may name besides the clouds' own: URLs such as "
        "`https://minio.example.com:9000`, or hosts. A name that leads to this machine or to a "
        "metadata service is refused; an address is allowed as it is written.",
    )
    catalogs: Mapping[CatalogName, SparkCatalogConfig] = Field(
        default_factory=dict,
        description="Iceberg REST catalogs, by the `catalog_name` of tasks; each with the keys of the "
        "catalog type `iceberg`, and `file_io`.",
    )

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
