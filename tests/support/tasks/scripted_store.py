"""A store without a database: it records statements, and returns prepared rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from sqlalchemy import Dialect, Executable
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.database import Store
from sluicegate.delegation.queue.records import TaskRecord

Rows = Sequence[Mapping[str, Any]]
# SQLAlchemy's own annotations don't cover these two classes.
DIALECTS: Mapping[str, Dialect] = {
    "postgresql": cast("Any", postgresql).dialect(),
    "sqlite": cast("Any", sqlite).dialect(),
}


@dataclass(frozen=True, slots=True)
class Executed:
    """A statement as text, on one line, and its parameters."""

    text: str
    parameters: Mapping[str, Any]


@dataclass
class ScriptedStore:
    """Each statement returns the next of the results: rows, or an exception to raise."""

    results: list[Rows | Exception] = field(default_factory=list)
    dialect_name: str = "sqlite"
    executed: list[Executed] = field(default_factory=list)
    commits: int = 0

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.dialect_name]

    @property
    def as_store(self) -> Store:
        return cast("Store", self)

    @property
    def as_connection(self) -> AsyncConnection:
        return cast("AsyncConnection", self)

    @asynccontextmanager
    async def append(self) -> AsyncIterator[AsyncConnection]:
        yield self.as_connection
        self.commits += 1

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        yield self.as_connection

    @asynccontextmanager
    async def begin_nested(self) -> AsyncIterator[None]:
        yield

    async def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> IteratorResult[Any]:
        compiled = cast("Any", statement).compile(dialect=self.dialect)
        self.executed.append(
            Executed(" ".join(str(compiled).split()), compiled.params | dict(parameters or {}))
        )
        result = self.results.pop(0) if self.results else []
        if isinstance(result, Exception):
            raise result
        names = list(result[0]) if result else ["none"]
        rows = iter([tuple(row.values()) for row in result])
        return IteratorResult(SimpleResultMetaData(names), rows)


def row_of(task: TaskRecord) -> dict[str, Any]:
    """The row in which a task is stored."""
    return asdict(task) | {"stages": list(task.stages)}
