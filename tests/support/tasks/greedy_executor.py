"""An executor that destroys what it may, and reads locations in every way that any client does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import anyio.lowlevel
import obstore

from sluicegate.api import DelegatedTask, TaskExecutor, TaskFailed, TaskResult, TaskRun
from sluicegate_testing.servers.seaweedfs import SeaweedFS

REWRITE = "TABLE_REWRITE"  # writes instead of deleting
# What the service answers for, wherever in a payload it stands: no executor has to check these again.
_CHECKED_BY_SERVICE = re.compile(
    r"(metadata_location|(properties|metadata)\.location|base-location"
    r"|(metadata\.)?properties\.write\.(data|metadata|object-storage|folder-storage)\.path"
    r"|metadata\.(snapshots|statistics|metadata-log)\.\d+\..*|storage-credentials\.\d+\.prefix)"
)


@dataclass
class GreedyExecutor(TaskExecutor):
    """Deletes or overwrites every object at and below every location that a task names or learns."""

    server: SeaweedFS
    catalogs: Mapping[str, str]
    named: tuple[str, ...] = ()
    touched: set[str] = field(default_factory=set)

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Destroy what may be destroyed; fail at the end if there was more."""
        store, refused = self.server.store(), []
        for location, is_checked in self._locations(task):
            await anyio.lowlevel.checkpoint()
            known = task.table.catalog in self.catalogs
            if not (is_checked or task.grant.allows_location(location, of_catalog=known)):
                refused.append(location)
                continue
            readings = set(_readings(location))
            for key in [each["path"] for each in obstore.list(store).collect()]:
                if not any(key == each or key.startswith(each and f"{each}/") for each in readings):
                    continue
                self.touched.add(key)
                if task.operation == REWRITE:
                    obstore.put(store, key, b"rewritten by " + task.id.encode())
                else:
                    obstore.delete(store, key)
        if refused:
            raise TaskFailed(f"not granted: {len(refused)} locations", error_code="NOT_GRANTED")
        return TaskResult("all of it was destroyed", files_deleted=len(self.touched))

    def _locations(self, task: DelegatedTask) -> Iterator[tuple[str, bool]]:
        """Each location, and whether the service has checked it."""
        document = {
            **task.further,
            "metadata_location": task.metadata_location,
            "metadata": task.metadata,
            "properties": task.properties,
            "config": task.config,
        }
        for place, text in _texts("", document):
            yield text, bool(_CHECKED_BY_SERVICE.fullmatch(place))
        if task.table.catalog in self.catalogs:
            yield self.catalogs[task.table.catalog], False
        yield from ((location, False) for location in self.named)


def _texts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place.removeprefix("."), value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(f"{place}.{name}", each)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts(f"{place}.{number}", each)


def _readings(location: str) -> Iterator[str]:
    """Keys in the bucket that some client would take a location for, whatever its scheme is."""
    scheme, separator, rest = location.partition("://")
    path = rest.partition("/")[2] if separator else scheme.lstrip("/").partition("/")[2]
    for _ in range(6):
        for cut in (path, *re.split(r"[?#]", path, maxsplit=1)[:1]):
            for each in (cut, cut.replace("\\", "/"), re.sub(r"[\x00-\x1f\x7f]", "", cut)):
                yield posixpath.normpath(f"/{each}").lstrip("/")
        path = unquote(path)
