"""Opens names below a directory without following a symbolic link, in one step for each name.

A path that is checked first and opened later can change in between. Here, the kernel itself refuses
links while it opens the path: `openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, or, where it
is missing (before Linux 5.6, other systems, some sandboxes), `openat` with `O_NOFOLLOW` for each name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable

from sluicegate.api import PermissionDenied

Open = Callable[[int, str, int], int]
"""Opens a path relative to a descriptor, with flags, and returns a new descriptor."""

_OPENAT2 = 437  # the same number on all architectures but Alpha
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_LINK_ERRORS = (errno.ELOOP, errno.EXDEV)
_ONLY_LOCATE = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)  # needs no permission to read
_DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC
# Opening a pipe waits for a writer, and a terminal could become that of this process.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Beneath:
    """Opens files and directories below one directory. The methods block, and are thread-safe.

    All methods raise `FileNotFoundError` if there is nothing at the path, `PermissionDenied` if it
    contains a symbolic link, or leads to something other than a file or directory, and `OSError`.
    """

    def __init__(self, directory: str, open_path: Open | None = None) -> None:
        self._directory = directory
        self._open_path = open_path or kernel_open(directory) or open_by_name

    def file(self, key: str) -> int:
        """Open a file for reading, and return its descriptor."""
        descriptor = self._open(key, _FILE)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise FileNotFoundError(errno.ENOENT, "is a directory", key)
        raise _special(key)

    def directory(self, key: str) -> int:
        """Open a directory for listing, and return its descriptor."""
        return self._open(key, os.O_RDONLY | _DIRECTORY)

    def mode(self, key: str) -> int:
        """Return the mode of a file or directory."""
        descriptor = self._open(key, _ONLY_LOCATE | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
        finally:
            os.close(descriptor)
        if stat.S_ISLNK(mode):
            raise link_refused(key)
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise _special(key)
        return mode

    def _open(self, key: str, flags: int) -> int:
        # Opened again each time: the file system of the directory can be mounted after the start.
        root = os.open(self._directory, getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY)
        try:
            return self._open_path(root, key or ".", flags)
        except NotADirectoryError as error:
            raise FileNotFoundError(errno.ENOENT, error.strerror, key) from error
        except OSError as error:
            if error.errno in _LINK_ERRORS:
                raise link_refused(key) from error
            if error.errno == errno.ENXIO:  # a socket, or a pipe without a reader
                raise _special(key) from error
            raise
        finally:
            os.close(root)


def open_by_name(root: int, path: str, flags: int) -> int:
    """Open a path directory by directory, without following links."""
    *parents, name = path.split("/")
    directory = root
    try:
        for parent in parents:
            inner = _open_name(parent, _ONLY_LOCATE | _DIRECTORY, directory)
            if directory != root:
                os.close(directory)
            directory = inner
        return _open_name(name, flags, directory)
    finally:
        if directory != root:
            os.close(directory)


def _open_name(name: str, flags: int, directory: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=directory)
    except NotADirectoryError:  # instead of ELOOP, if the flags also request a directory
        if stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def kernel_open(directory: str) -> Open | None:
    """Return a function that calls `openat2`; `None` if the kernel, or a sandbox, refuses the call."""
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long

    def openat2(root: int, path: str, flags: int) -> int:
        how = _OpenHow(flags, 0, _NO_SYMLINKS | _BENEATH)
        arguments = (ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how))
        opened = call(
            ctypes.c_long(_OPENAT2), ctypes.c_int(root), *arguments, ctypes.c_size_t(ctypes.sizeof(how))
        )
        if opened < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return int(opened)

    root = os.open(directory, os.O_RDONLY | _DIRECTORY)
    try:
        os.close(openat2(root, ".", os.O_RDONLY | _DIRECTORY))
    except OSError:
        return None
    finally:
        os.close(root)
    return openat2


def link_refused(key: str) -> PermissionDenied:
    """Return the error for a path that contains a symbolic link."""
    return PermissionDenied(
        "the location contains a symbolic link, which local storage does not follow; ask the table's "
        "owner to replace the link with the file or directory itself",
        detail=key,
    )


def _special(key: str) -> PermissionDenied:
    return PermissionDenied("only files and directories can be shared", detail=key)
