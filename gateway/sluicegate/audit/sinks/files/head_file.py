"""The file with the head of a chain, whose lock makes sure that a chain has one writer."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sluicegate.audit.chain import ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.files.directory import chain_name, head_path

# The head fits into one sector of a disk, so that it is never written in part.
_SIZE = 512


class HeadFile:
    """An open and locked head."""

    def __init__(self, descriptor: int, chain: str, keys: ChainKeys) -> None:
        self._descriptor = descriptor
        self._chain = chain
        self._keys = keys

    @classmethod
    def lock(cls, directory: Path, slot: int, keys: ChainKeys) -> HeadFile | None:
        """Lock a head, which is created if it does not exist.

        Returns:
            `None` if another writer has locked it.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(head_path(directory, slot), flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, chain_name(slot), keys)

    @property
    def is_new(self) -> bool:
        """Whether it was never written."""
        return os.fstat(self._descriptor).st_size == 0

    def read(self) -> Head | None:
        """The head, or `None` if it is not authentic."""
        return parse_head(os.pread(self._descriptor, _SIZE, 0), self._chain, self._keys)

    def write(self, head: Head) -> None:
        """Replace the head. It survives the end of the process; `sync` makes it durable."""
        seal = self._keys.sealing.head_seal(self._chain, head)
        content = f"{head.last} {head.checkpoint} {seal.hex()}".encode().ljust(_SIZE - 1) + b"\n"
        os.pwrite(self._descriptor, content, 0)

    def sync(self) -> None:
        """Make the head durable."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def read_head(directory: Path, slot: int, keys: ChainKeys) -> Head | None:
    """Read a head that another process may write. Returns `None` if it is missing or not authentic."""
    try:
        content = head_path(directory, slot).read_bytes()
    except FileNotFoundError:
        return None
    return parse_head(content, chain_name(slot), keys)


def parse_head(content: bytes, chain: str, keys: ChainKeys) -> Head | None:
    """The head in the content of a file, or `None` if it is not authentic."""
    try:
        last, checkpoint, seal = content.decode("ascii").split()
        head = Head(ChainPosition.parse(last), ChainPosition.parse(checkpoint))
        return head if keys.accepts_head(chain, head, bytes.fromhex(seal)) else None
    except ValueError:
        return None
