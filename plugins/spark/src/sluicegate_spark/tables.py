"""Finds the table of a task, and provides credentials for its files while the task runs.

Source: Polaris delegation proposal, "Credential Vending" (the service is a principal of the catalog
and calls loadTable, or the catalog sends vended credentials in the payload's `config`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from sluicegate.api import (
    DelegatedTask,
    RefreshingValue,
    StorageError,
    TaskFailed,
    TaskRun,
    TemporaryCredentials,
    Unavailable,
)
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_iceberg.rest.responses import GenericTable, LoadedTable, StorageCredential
from sluicegate_iceberg.vendor import Delegation
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.payload_config import AllowedEndpoints, effective

Format = Literal["iceberg", "delta"]
_VENDING_FAILED: Final = "CREDENTIAL_VENDING_FAILED"
_BAD_REQUEST: Final = 400


class TableDropped(TaskFailed):
    """The catalog says that the task's table does not exist."""


def vending_failed(why: str, *, retryable: bool = False, detail: str | None = None) -> TaskFailed:
    """Return the failure of a task that gets no credentials. The task has not changed anything."""
    return TaskFailed(why, error_code=_VENDING_FAILED, retryable=retryable, detail=detail)


@dataclass(frozen=True, slots=True)
class TaskCatalog:
    """A configured catalog, accessed as the service's own principal."""

    name: str
    config: IcebergConfig
    client: IcebergClient = field(repr=False)
    delegation: Delegation = field(repr=False)

    @classmethod
    def configured(cls, name: str, config: IcebergConfig) -> TaskCatalog:
        """Return the catalog of a section, without connecting to it."""
        client = IcebergClient.configured(name, config)
        return cls(name, config, client, Delegation(client))

    async def load(self, table: TableName) -> LoadedTable | GenericTable:
        """Load a table from the catalog, including generic tables of Polaris."""
        try:
            return await self.client.load(table)
        except Unavailable as error:
            found = await self._generic(table) if _says_missing(error) else None
            if found is None:
                raise self._failed(error) from error
            return found

    async def vend(self, table: Table, locations: Sequence[str]) -> TemporaryCredentials | None:
        """Vend credentials for directories of a table, or return `None` if the catalog vends none."""
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
        if isinstance(error, Refused) and error.says_missing:
            if error.http_status == _BAD_REQUEST:
                why = f"the catalog '{self.name}' rejects the request for the table as invalid (400)"
                return vending_failed(why, detail=error.detail)
            why = f"the catalog '{self.name}' shows no such table to the delegation service"
            failure = TableDropped if error.says_dropped else TaskFailed
            return failure(why, error_code=_VENDING_FAILED, detail=error.detail)
        why = f"the catalog '{self.name}' does not respond to the delegation service"
        return vending_failed(why, retryable=True, detail=error.detail)


def _says_missing(error: Unavailable) -> bool:
    return isinstance(error, Refused) and error.says_missing


@dataclass(frozen=True, slots=True)
class Table:
    """A task's table.

    Attributes:
        catalog: The configured catalog of the table, or `None` if only the task describes the table.
        location: Its directory, without a trailing slash.
        metadata_location: Its current metadata file; `None` for a Delta table.
        format: The format according to its catalog or to the task's property `format`; `None` if
            unknown.
        table_id: Distinguishes it from other tables with the same name; empty if the catalog has no
            ids.
        dropped: Whether its configured catalog no longer has it, so that only the task describes it.
    """

    name: TableName
    catalog: TaskCatalog | None
    location: str
    metadata_location: str | None
    properties: Mapping[str, str]
    format: Format | None = "iceberg"
    table_id: str = ""
    dropped: bool = False

    @classmethod
    def of_payload(cls, task: DelegatedTask, *, dropped: bool = False) -> Self | None:
        """Return the table as the payload describes it, or `None` if it contains no location."""
        name = TableName(task.table.namespace, task.table.name)
        location = (task.metadata or {}).get("location") or task.properties.get("location")
        if location is None and task.metadata_location is not None:
            location = task.metadata_location.rpartition("/metadata/")[0]
        if not location:
            return None
        place = location.rstrip("/")
        return cls(name, None, place, task.metadata_location, {}, _format(task), dropped=dropped)


@dataclass(frozen=True, slots=True)
class StorageRules:
    """Rules of the executor's configuration for credentials of tasks."""

    endpoints: AllowedEndpoints = field(default_factory=AllowedEndpoints)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)


class TableAccess:
    """Credentials for the files of a task's table, renewed while the task runs.

    The table's catalog vends them, the task contains them, or they are configured for the catalog.
    Credentials of Spark's settings and of the machine are never used.

    Args:
        locations: Directories that the credentials must cover.
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
        self._fresh = RefreshingValue(self._load, "credentials of a task's table")

    def during(self, run: TaskRun) -> None:
        """Use newer credentials from repeated requests for the task, as long as the task runs."""
        self._run = run

    async def objects(self) -> ObjectAccess:
        """Return access to the table's objects with valid credentials.

        At least half of their lifetime remains. In long work, call this method again before each
        part.
        """
        try:
            return ObjectAccess(await self._fresh.get(), self.granted)
        except StorageError as error:
            raise vending_failed(error.message, retryable=True, detail=error.detail) from error

    def of_other(self, table: Table, task: DelegatedTask) -> TableAccess:
        """Return access to another table that the same task describes."""
        other = TableAccess(table, task, rules=self._rules)
        other._run = self._run
        return other

    @property
    def is_local_delta(self) -> bool:
        """Return whether it is a Delta table at a granted location on the cluster's disks."""
        return (
            self.table.format != "iceberg"
            and self.table.location.startswith("file:")
            and self.granted.is_limited
            and self.granted.allows(self.table.location)
        )

    async def credentials_of_task(self) -> TemporaryCredentials | None:
        """Return the newest credentials of the task, or else those of the catalog's configuration."""
        config_of_task = self._given if self._run is None else await self._run.renewed_config()
        config = effective(config_of_task or {})
        only_payloads = self._locations if self.table.catalog is None else ()
        await self._rules.endpoints.check(config, only_payloads)
        return self._chosen(config) or self._chosen(self._rules.own)

    def _chosen(self, config: Mapping[str, str]) -> TemporaryCredentials | None:
        everywhere = StorageCredential(prefix="", config=config)
        return chosen([everywhere], self._locations, {**self.table.properties, **config})

    async def _load(self) -> TemporaryCredentials:
        found = await self._vended() or await self.credentials_of_task()
        if found is None:
            raise vending_failed(
                "no credentials for the table's files: the catalog vends none to the delegation "
                "service, and the task and the catalog's 'file_io' contain none"
            )
        return found

    async def _vended(self) -> TemporaryCredentials | None:
        table = self.table
        if table.catalog is None or table.catalog.config.credentials != "catalog":
            return None
        if table.format != "iceberg":  # Polaris vends no credentials for generic tables
            return None
        try:
            return await table.catalog.vend(table, self._locations)
        except TaskFailed as failed:
            if not failed.retryable:
                raise
            # `RefreshingValue` keeps using its current value while that is valid.
            raise StorageError(failed.message, detail=failed.detail) from failed


def _format(task: DelegatedTask) -> Format | None:
    name = task.properties.get("format")
    if name == "delta":
        return "delta"
    is_iceberg = task.metadata is not None or task.metadata_location is not None
    return "iceberg" if is_iceberg or name == "iceberg" else None
