"""The folder that contains indexes: a folder for each table, with a manifest and Parquet files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pyarrow as pa
from obstore.exceptions import BaseError

from sluicegate.api.budget import Budget, TableLimits
from sluicegate.api.errors import StorageError, TableUnreadable
from sluicegate.api.models import CatalogTable
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.parquet.batches import parquet_batches
from sluicegate.tables.snapshot_index.blocking_store import BlockingStore, TooLarge
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.manifest import FileRef, Manifest

_MANIFEST = "manifest.json"
_MANIFEST_BYTES = 32 << 20  # it contains the table's schema
_FILE = re.compile(r"([0-9a-f]{64})\.parquet")
# Copies of manifests, by the times when they were built: they say how long files are needed.
_COPY = re.compile(r"manifest-(\d{1,16})-[0-9a-f]{16}\.json")
# What one file can take in memory, before the decoder allocates it.
_DECODED_BYTES = 1 << 30


def table_key(table: CatalogTable) -> str:
    """The name of a table's folder. Tables of different catalogs can have the same location."""
    identity = json.dumps([table.format, table.id, table.location, table.ref])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a table's indexes.

    Attributes:
        modified: When it was last written, epoch milliseconds.
        digest: The digest in its name; `None` if it is a copy of a manifest.
        built: When the manifest was built of which it is a copy, epoch milliseconds.
    """

    name: str
    modified: int
    digest: str | None
    built: int | None


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """Reads and writes the files of indexes. All methods block.

    Every file is checked against the digest in the manifest, or in what the manifest names.
    """

    store: BlockingStore
    prefix: str
    keys: KeyRing = field(repr=False)

    def manifest(self, table: str, name: str = _MANIFEST) -> Manifest | None:
        """The manifest of a table's index, or `None` if the table has none."""
        content = self._get(self._key(table, name), _MANIFEST_BYTES)
        if content is None:
            return None
        manifest = Manifest.decode(content, self.keys)
        if manifest.table != table:
            raise IndexUnusable("the manifest belongs to another table")
        return manifest

    def publish(self, manifest: Manifest) -> None:
        """Replace the manifest of a table, which makes its files visible to gateways.

        A copy, which is written before, is there as long as gateways can use the index.
        """
        content = manifest.encode(self.keys)
        copy = f"manifest-{manifest.built}-{manifest.summary.digest[:16]}.json"
        for name in (copy, _MANIFEST):
            self._put(self._key(manifest.table, name), content)

    def read(self, table: str, file: FileRef) -> bytes:
        """A file of an index."""
        content = self._get(self._key(table, f"{file.digest}.parquet"), file.bytes)
        if content is None:
            raise IndexUnusable(f"the file {file.digest}.parquet is missing")
        if hashlib.sha256(content).hexdigest() != file.digest:
            raise IndexUnusable(f"the file {file.digest}.parquet is damaged")
        return content

    def write(self, table: str, content: bytes) -> FileRef:
        """Write a file; raises as `publish` does. Equal content has the same name."""
        file = FileRef(hashlib.sha256(content).hexdigest(), len(content))
        self._put(self._key(table, f"{file.digest}.parquet"), content)
        return file

    def tables(self) -> Iterator[str]:
        """The keys of the tables that have a manifest."""
        start = f"{self.prefix}/" if self.prefix else ""
        for stored in self.store.objects(self.prefix):
            table, _, name = stored.key.removeprefix(start).partition("/")
            if name == _MANIFEST:
                yield table

    def files(self, table: str) -> list[StoredFile]:
        """All files of a table's indexes, except for the manifest."""
        with _changing(self.prefix):
            found = self.store.objects(self._key(table, ""))
        files = []
        for stored in found:
            name = stored.key.rpartition("/")[2]
            if match := _FILE.fullmatch(name):
                files.append(StoredFile(name, stored.modified, match[1], None))
            elif match := _COPY.fullmatch(name):
                files.append(StoredFile(name, stored.modified, None, int(match[1])))
        return files

    def delete(self, table: str, names: Iterable[str]) -> None:
        """Remove files; raises as `publish` does. Files that do not exist are no error."""
        self._delete([self._key(table, name) for name in names])

    def remove(self, table: str) -> int:
        """Remove all files of a table's indexes, and return their number without the manifests."""
        self.delete(table, [_MANIFEST])
        files = self.files(table)
        self.delete(table, [each.name for each in files])
        return sum(each.digest is not None for each in files)

    def _put(self, key: str, content: bytes) -> None:
        with _changing(key):
            self.store.put(key, content)

    def _delete(self, keys: list[str]) -> None:
        for start in range(0, len(keys), 1000):
            with suppress(FileNotFoundError), _changing(self.prefix):
                self.store.delete(keys[start : start + 1000])

    def _get(self, key: str, most: int) -> bytes | None:
        try:
            return self.store.get(key, most)
        except FileNotFoundError:
            return None
        except TooLarge:
            raise IndexUnusable(f"{key} is larger than it was when it was written") from None
        except (BaseError, OSError) as error:
            raise IndexUnusable(f"{key} cannot be read: {type(error).__name__}") from error

    def _key(self, table: str, name: str) -> str:
        return "/".join(part for part in (self.prefix, table, name) if part)


@contextmanager
def _changing(key: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        raise StorageError(
            "the folder of indexes cannot be written to: its storage must be available, and its "
            "credentials must be able to write",
            detail=f"{key}: {type(error).__name__}",
        ) from error


def decoded(content: bytes, schema: pa.Schema, what: str) -> Iterator[pa.RecordBatch]:
    """Batches of some columns of an index's file, with text columns as dictionaries."""
    budget = Budget(TableLimits(bytes=_DECODED_BYTES))
    try:
        yield from parquet_batches(content, schema, what, budget)
    except (TableUnreadable, ValueError, IndexError, pa.ArrowException) as error:
        raise IndexUnusable(f"{what} cannot be decoded: {error}") from error
