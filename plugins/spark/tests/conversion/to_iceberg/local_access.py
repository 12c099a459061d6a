"""Access to a folder in place of a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from obstore.store import LocalStore, ObjectStore

from sluicegate.api import ObjectDirectory
from sluicegate_spark.objects import ObjectAccess


@dataclass(frozen=True)
class _Folder:
    path: Path

    def open(self, location: str) -> tuple[ObjectStore, str]:
        return LocalStore(str(self.path)), location.removeprefix("s3://b/")

    def directory(self, location: str) -> ObjectDirectory:
        return ObjectDirectory(*self.open(location))


def access_to(folder: Path) -> ObjectAccess:
    """Return access to the bucket `b`, whose objects are the files of a folder."""
    access: Any = _Folder(folder)
    return cast("ObjectAccess", access)
