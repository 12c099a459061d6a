"""The table of a task: where it is, and credentials for its files that are renewed while it runs.

Source: polaris-delegation-service.md, "Credential Vending" (the service is a principal of the catalog
and calls loadTable; or the catalog vends before and sends them with the payload's `config`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sluicegate.api import (
    DelegatedTask,
    Fresh,
    StorageError,
    TaskFailed,
    TaskRun,
    TemporaryCredentials,
    Unavailable,
)
from sluicegate_iceberg.answers import GenericTable, LoadedTable, StorageCredential
from sluicegate_iceberg.client import IcebergClient
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.refusal import Refused
from sluicegate_iceberg.vendor import Delegation
from sluicegate_spark.granted import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.payload_config import AllowedEndpoints, effective

Format = Literal["iceberg", "delta"]


def vending_failed(why: str, *, retryable: bool = False, detail: str | None = None) -> TaskFailed:
    """The failure of a task that gets no credentials: nothing was changed."""
    return TaskFailed(why, error_code="CREDENTIAL_VENDING_FAILED", retryable=retryable, detail=detail)


@dataclass(frozen=True, slots=True)
class TaskCatalog:
    """A configured catalog, asked as the service's own principal."""

    name: str
    config: IcebergConfig
    client: IcebergClient = field(repr=False)
    delegation: Delegation = field(repr=False)

    @classmethod
    def configured(cls, name: str, config: IcebergConfig) -> TaskCatalog:
        """The catalog of a section; nothing is asked yet."""
        client = IcebergClient.configured(name, config)
        return cls(name, config, client, Delegation(client))

    async def load(self, table: TableName) -> LoadedTable | GenericTable:
        """What the catalog says of a table, be it one of Polaris' generic ones.

        Raises:
            TaskFailed: It has no such table, does not let the service see it, or does not answer.
        """
        try:
            return await self.client.load(table)
        except Unavailable as error:
            found = await self._generic(table) if _says_missing(error) else None
            if found is None:
                raise self._failed(error) from error
            return found

    async def vend(self, table: Table, locations: Sequence[str]) -> TemporaryCredentials | None:
        """Credentials for directories of a table; `None` where the catalog vends none.

        Raises:
            TaskFailed: It refuses, does not answer, or has another table of that name by now.
        """
        try:
            return await self.delegation.credentials(
                table.name, table.table_id, tuple(locations), table.properties
            )
        except Unavailable as error:
            raise self._failed(error) from error

    async def _generic(self, table: TableName) -> GenericTable | None:
        try:
            return await self.client.load_generic(table)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return None
            raise self._failed(refused) from refused
        except Unavailable as error:
            raise self._failed(error) from error

    def _failed(self, error: Unavailable) -> TaskFailed:
        if _says_missing(error):
            why = f"the catalog '{self.name}' shows no such table to the delegation service"
            return vending_failed(why, detail=error.detail)
        why = f"the catalog '{self.name}' does not answer the delegation service"
        return vending_failed(why, retryable=True, detail=error.detail)


def _says_missing(error: Unavailable) -> bool:
    return isinstance(error, Refused) and error.says_missing


@dataclass(frozen=True, slots=True)
class Table:
    """A task's table.

    Attributes:
        catalog: Where it is in a configured catalog, `None` where all that is known came with the task.
        location: Its directory, without a trailing slash.
        metadata_location: Its current metadata file; `None` for a Delta table.
        properties: How its storage is reached, none of it secret.
        format: What its catalog says that it is, or the task's property `format`; `None` where
            nobody does.
        table_id: Tells it from another one of its name in its catalog; empty where it has none.
    """

    name: TableName
    catalog: TaskCatalog | None
    location: str
    metadata_location: str | None
    properties: Mapping[str, str]
    format: Format | None = "iceberg"
    table_id: str = ""


@dataclass(frozen=True, slots=True)
class StorageRules:
    """What the executor's configuration says of the credentials of tasks.

    Attributes:
        endpoints: Hosts that a payload may name.
        own: Properties of the file IO of the task's catalog, for where no other credentials come.
    """

    endpoints: AllowedEndpoints = field(default_factory=AllowedEndpoints)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)


class TableAccess:
    """Credentials for the files of a task's table, renewed for as long as the task runs.

    They are vended by the table's catalog, or come with the task, or are configured for the catalog.
    Those of Spark's settings and of the machine are never used.

    Attributes:
        granted: What the task may touch.

    Args:
        table: The table.
        task: With the credentials that came with it, if any.
        locations: Directories that they have to open.
        rules: What the configuration says of them.
    """

    def __init__(
        self,
        table: Table,
        task: DelegatedTask,
        locations: Sequence[str] = (),
        rules: StorageRules | None = None,
    ) -> None:
        self.table = table
        self.granted = GrantedLocations(task.realm, task.grant, table.catalog is not None)
        self._rules = rules or StorageRules()
        self._given = task.config
        self._locations = tuple(locations) or (table.location,)
        self._run: TaskRun | None = None
        self._fresh = Fresh(self._load, "credentials of a task's table")

    def during(self, run: TaskRun) -> None:
        """From now on, take newer credentials that a repeated request brings."""
        self._run = run

    async def objects(self) -> ObjectAccess:
        """Access to the table's objects by credentials that have not ended.

        At least half of their life is left: ask again before each part of a long work.

        Raises:
            TaskFailed: None can be had (`CREDENTIAL_VENDING_FAILED`).
        """
        try:
            return ObjectAccess(await self._fresh.get(), self.granted)
        except StorageError as error:
            raise vending_failed(error.message, retryable=True, detail=error.detail) from error

    @property
    def is_local_delta(self) -> bool:
        """Whether it is a Delta table on disks of the cluster, which the task's realm was granted."""
        return (
            self.table.format != "iceberg"
            and self.table.location.startswith("file:")
            and self.granted.is_limited
            and self.granted.allows(self.table.location)
        )

    async def handed_over(self) -> TemporaryCredentials | None:
        """The newest credentials that came with the task, else those of its catalog's configuration.

        Raises:
            TaskFailed: The payload's name a host that is not allowed (`INVALID_PAYLOAD`).
        """
        came = self._given if self._run is None else await self._run.renewed_config()
        config = effective(came or {})
        only_payloads = self._locations if self.table.catalog is None else ()
        await self._rules.endpoints.check(config, only_payloads)
        return self._chosen(config) or self._chosen(self._rules.own)

    def _chosen(self, config: Mapping[str, str]) -> TemporaryCredentials | None:
        everywhere = StorageCredential(prefix="", config=config)
        return chosen([everywhere], self._locations, {**self.table.properties, **config})

    async def _load(self) -> TemporaryCredentials:
        found = await self._vended() or await self.handed_over()
        if found is None:
            raise vending_failed(
                "no credentials for the table's files: the catalog vends none to the delegation "
                "service, none came with the task, and its catalog's 'file_io' has none"
            )
        return found

    async def _vended(self) -> TemporaryCredentials | None:
        table = self.table
        if table.catalog is None or table.catalog.config.credentials != "catalog":
            return None
        if table.format != "iceberg":  # Polaris vends nothing for generic tables
            return None
        try:
            return await table.catalog.vend(table, self._locations)
        except TaskFailed as failed:
            if not failed.retryable:
                raise
            # `Fresh` goes on with what it has for as long as that lives.
            raise StorageError(failed.message, detail=failed.detail) from failed
