"""The Iceberg table that a Delta table is converted to, in its catalog.

Source: Iceberg's REST catalog specification, `loadTable` and `updateTable`: with the requirement
`assert-create`, one commit makes the table with its first snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluicegate.api import TaskFailed, Unavailable
from sluicegate_iceberg.answers import CatalogAnswer
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.refusal import Refused
from sluicegate_spark.tables import TaskCatalog

_CONFLICT = 409


class Loaded(CatalogAnswer):
    """`LoadTableResult`, with all that the metadata says."""

    metadata: Mapping[str, Any]


class Target:
    """A table of a catalog, which may be there or not.

    Args:
        catalog: Asked as the service's own principal.
        name: The table's.
    """

    def __init__(self, catalog: TaskCatalog, name: TableName) -> None:
        self._catalog = catalog
        self._name = name

    async def load(self) -> Mapping[str, Any] | None:
        """The table's metadata; `None` where there is no such table.

        Raises:
            TaskFailed: The catalog does not answer, or shows nothing to the service.
        """
        client = self._catalog.client
        try:
            url = (await client.settings()).table(self._name)
            return (await client.rest.ask(url, Loaded)).metadata
        except Refused as refused:
            if refused.says_dropped:
                return None
            raise self._failed(refused) from refused
        except Unavailable as error:
            raise self._failed(error) from error

    async def commit(
        self, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]
    ) -> None:
        """Change the table: all of it or nothing.

        Raises:
            TaskFailed: Another writer was quicker, or the catalog refuses or does not answer.
        """
        client = self._catalog.client
        document = {
            "identifier": {"namespace": list(self._name.namespace), "name": self._name.name},
            "requirements": list(requirements),
            "updates": list(updates),
        }
        try:
            await client.rest.post((await client.settings()).table(self._name), document)
        except Unavailable as error:
            raise self._failed(error) from error

    def _failed(self, error: Unavailable) -> TaskFailed:
        status = error.http_status if isinstance(error, Refused) else None
        if status == _CONFLICT:
            why = f"another writer changed the table '{self._name}' meanwhile"
        elif status is not None and status < 500:
            why = f"the catalog '{self._catalog.name}' refuses the table '{self._name}'"
        else:
            why = f"the catalog '{self._catalog.name}' does not answer the delegation service"
        final = status is not None and status < 500 and status != _CONFLICT
        return TaskFailed(why, error_code="STORAGE_FAILED", retryable=not final, detail=error.detail)
