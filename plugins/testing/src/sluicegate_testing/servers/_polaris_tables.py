"""Iceberg tables in responses of Polaris: metadata, entity tags, and the filter `snapshots=refs`."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Any, Final, Literal

PolarisVersion = Literal["1.4", "1.7"]

_FIRST_COMMIT_MS: Final = 1_795_000_000_000
_FILTERED_MS: Final = 1_796_000_000_000


@dataclass(frozen=True)
class PolarisTable:
    """One state of an Iceberg table.

    Attributes:
        location: Location without a trailing slash.
        snapshots: Number of snapshots. The last one is current, and no ref names the others.
        id: The `table-uuid`.
        tags: Names of the current snapshot, in addition to the branch `main`.
    """

    location: str
    snapshots: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    tags: tuple[str, ...] = ()

    @property
    def metadata_location(self) -> str:
        """The current metadata file. Each commit writes a new one."""
        return self._metadata_file(self.snapshots)

    @property
    def etag(self) -> str:
        """A weak entity tag of the current metadata file."""
        return f'W/"{hashlib.sha256(self.metadata_location.encode()).hexdigest()}"'

    def load_result(self, snapshots: str, version: PolarisVersion) -> dict[str, Any]:
        """Return `LoadTableResult` without configuration and credentials.

        Up to version 1.6, a response from which `refs` removed snapshots represents an uncommitted
        change of the table: it lacks `metadata-location`, its time is that of the request, and the
        current metadata file is the last one of its log.
        """
        if snapshots == "all" or self.snapshots <= 1:
            return self._result(range(self.snapshots))
        current = range(self.snapshots - 1, self.snapshots)
        if version == "1.7":
            return self._result(current)
        changed = self._metadata(current)
        changed["last-updated-ms"] = _FILTERED_MS
        changed["metadata-log"].append(self._log_entry(self.snapshots))
        return {"metadata": changed}

    def _result(self, kept: range) -> dict[str, Any]:
        return {"metadata-location": self.metadata_location, "metadata": self._metadata(kept)}

    def _metadata(self, kept: range) -> dict[str, Any]:
        current = self.snapshots
        refs = {"main": {"snapshot-id": current, "type": "branch"}} if current else {}
        refs |= {name: {"snapshot-id": current, "type": "tag"} for name in self.tags}
        return {
            "format-version": 2,
            "table-uuid": self.id,
            "location": self.location,
            "last-sequence-number": current,
            "last-updated-ms": _FIRST_COMMIT_MS + current,
            "current-snapshot-id": current or -1,
            "refs": refs,
            "snapshots": [self._snapshot(number + 1) for number in kept],
            "metadata-log": [self._log_entry(number) for number in range(current)],
        }

    def _snapshot(self, number: int) -> dict[str, Any]:
        return {
            "snapshot-id": number,
            "sequence-number": number,
            "timestamp-ms": _FIRST_COMMIT_MS + number,
            "manifest-list": f"{self.location}/metadata/snap-{number}.avro",
            "summary": {"operation": "append"},
        }

    def _log_entry(self, number: int) -> dict[str, Any]:
        file = self._metadata_file(number)
        return {"timestamp-ms": _FIRST_COMMIT_MS + number, "metadata-file": file}

    def _metadata_file(self, number: int) -> str:
        return f"{self.location}/metadata/{number:05}-{self.id}.metadata.json"
