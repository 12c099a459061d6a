"""Configuration of the task executor `spark`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluicegate.api import InvalidRequest, PluginConfig, SecretStr, comparable_location
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_spark.copies.config import MATERIALIZED, MaterializedConfig
from sluicegate_spark.payload_config import FileIo, endpoint

_BUCKET = re.compile(r"s3://[A-Za-z0-9][A-Za-z0-9._-]{0,254}/.*")


def _directory(value: str) -> str:
    """Return a directory in a bucket, without a trailing slash."""
    try:
        found = comparable_location(value)
    except InvalidRequest as error:
        raise ValueError(error.message) from None
    if not _BUCKET.fullmatch(found):
        raise ValueError("expected a directory in a bucket, such as s3://usage/tables")
    return found.rstrip("/")


Directory = Annotated[str, AfterValidator(_directory)]


class UsageConfig(PluginConfig):
    """The tables of usage, and the access logs that they are made from."""

    removed_keys: ClassVar[Mapping[str, str]] = {
        "late_after": "one day",
        "files_per_batch": "10,000 files",
    }

    location: Directory = Field(
        description="Directory of the tables, such as `s3://usage/tables`, without any logs."
    )
    access_logs: tuple[Directory, ...] = Field(
        default=(),
        max_length=100,
        description="Directories with server access logs in the format of Amazon S3. All files below "
        "them are read.",
    )
    file_io: FileIo = Field(
        default_factory=dict,
        description="Credentials for all of these directories: `s3.access-key-id`, "
        "`s3.secret-access-key`, and similar keys.",
    )

    @model_validator(mode="after")
    def _refuse_logs_among_tables(self) -> Self:
        tables = f"{self.location}/"
        for each in self.access_logs:
            if tables.startswith(f"{each}/") or f"{each}/".startswith(tables):
                raise ValueError("location and access_logs must not contain each other")
        return self


def _master(value: str) -> str:
    if not re.match(r"(local($|\[)|yarn$|spark://.|k8s://.)", value):
        raise ValueError("expected local[*], spark://host:7077, yarn or k8s://https://host:6443")
    return value


def _remote(value: str) -> str:
    if not re.fullmatch(r"sc://\S+", value):
        raise ValueError("expected sc://host:15002")
    return value


Endpoint = Annotated[str, AfterValidator(endpoint)]
CatalogName = Annotated[str, StringConstraints(min_length=1, max_length=255)]

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class SparkCatalogConfig(IcebergConfig):
    """A catalog of the executor, and fallback credentials for its tables."""

    file_io: FileIo = Field(
        default_factory=dict,
        description="Credentials for the catalog's tables, used if the catalog vends none and the "
        "task carries none: `s3.access-key-id`, `s3.secret-access-key`, "
        "`adls.sas-token.<account>`, and similar keys.",
    )


class SparkConfig(PluginConfig):
    """Where tasks run, and the catalogs that contain their tables.

    The service is a principal of these catalogs and needs write access: with the credentials that it
    gets for a table, it deletes files and commits.
    """

    master: Annotated[str, AfterValidator(_master)] = Field(
        default="local[*]",
        description="Spark's master: `local[*]` (in the worker process), `spark://host:7077`, "
        "`yarn`, or `k8s://https://host:6443`.",
    )
    remote: Annotated[str, AfterValidator(_remote)] | None = Field(
        default=None,
        description="A Spark Connect server to use instead of a master, such as `sc://host:15002`. "
        "The server provides the jars.",
    )
    jars: str | None = Field(
        default=None,
        min_length=1,
        description="Folder that contains the jars of Iceberg, Delta Lake, and the object stores.",
    )
    packages: tuple[str, ...] = Field(
        default=(),
        description="The same libraries as Maven coordinates. Spark downloads them when it starts.",
    )
    conf: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        description="Spark settings by their Spark names. They override the settings of the executor.",
    )
    environment: frozenset[VariableName] = Field(
        default=frozenset(),
        description="Names of additional environment variables that Spark's processes on this "
        "machine inherit.",
    )
    deletions_per_second: int | None = Field(
        default=None,
        ge=1,
        description="The largest number of files that one purge or removal of orphan files deletes "
        "per second, on all machines together.",
    )
    files_in_worker: int = Field(
        default=10_000,
        ge=0,
        description="The largest number of files of a table that the worker converts itself. Larger "
        "tables are converted on Spark.",
    )
    endpoints: tuple[Endpoint, ...] = Field(
        default=(),
        description="Stores, in addition to the public clouds, that the `config` of a task can name: "
        "URLs such as `https://minio.example.com:9000`, or hosts. Names that resolve to "
        "this machine or to a metadata service are rejected. An IP address is allowed "
        "exactly as written.",
    )
    catalogs: Mapping[CatalogName, SparkCatalogConfig] = Field(
        default_factory=dict,
        description="Iceberg REST catalogs, by the `catalog_name` of tasks. Each accepts the "
        "settings of the catalog type `iceberg`, and `file_io`.",
    )
    usage: UsageConfig | None = Field(
        default=None,
        description="The tables of usage, which `COLLECT_USAGE` writes, and the access logs that it "
        "reads. Without this section, such tasks fail.",
    )
    materialized: MaterializedConfig | None = Field(
        default=None,
        description="Copies of tables for recipients, which `REFRESH_MATERIALIZATION` writes. The "
        f"`catalog_name` of its tasks is `{MATERIALIZED}`.",
    )

    index_catalogs: frozenset[CatalogName] = Field(
        default=frozenset(),
        description="Catalogs of the gateway (in its section `catalogs`) whose tables "
        "`BUILD_SNAPSHOT_INDEX` indexes. Needs `index.location`.",
    )

    @property
    def catalog_names(self) -> frozenset[str]:
        """The catalogs that tasks can name."""
        own = frozenset() if self.materialized is None else frozenset({MATERIALIZED})
        return own | self.catalogs.keys() | self.index_catalogs

    @model_validator(mode="after")
    def _knows_sources(self) -> Self:
        if self.materialized is None:
            return self
        if MATERIALIZED in self.catalogs or MATERIALIZED in self.index_catalogs:
            raise ValueError(f"catalogs: the name '{MATERIALIZED}' is reserved for the copies")
        for name, copy in self.materialized.tables.items():
            if copy.catalog is not None and copy.catalog not in self.catalogs:
                raise ValueError(f"materialized.tables.{name}: catalogs has no entry '{copy.catalog}'")
        return self

    @model_validator(mode="after")
    def _refuse_two_clusters(self) -> Self:
        local = sorted({"master", "jars", "packages", "environment"} & self.model_fields_set)
        if self.remote is not None and local:
            raise ValueError(
                f"remote and {local[0]} exclude each other: the Spark Connect server has its own"
            )
        if self.remote is not None and self.usage is not None:
            raise ValueError(
                "remote and usage exclude each other: COLLECT_USAGE needs Spark's driver in the worker"
            )
        if self.jars is not None and self.packages:
            raise ValueError("jars and packages exclude each other: set one of them")
        return self
