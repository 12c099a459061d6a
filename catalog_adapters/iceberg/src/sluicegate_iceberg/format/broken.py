"""Reports broken metadata files as errors that name the file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from fastavro.schema import SchemaParseException

from sluicegate.api import TableUnreadable

_LONGEST_NAME = 100  # characters
# Exceptions that decoders raise for broken content.
_BROKEN = (
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
    OSError,
    struct.error,
    zlib.error,
    pa.ArrowException,
    SchemaParseException,
)


def named(kind: str, location: str) -> str:
    """Describe a file for error messages: its kind, and its name without the folders."""
    name = location.rstrip("/").rpartition("/")[2]
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return f"the {kind} '{''.join(each if each.isprintable() else '?' for each in shown)}'"


@contextmanager
def in_file(what: str) -> Iterator[None]:
    """Convert exceptions of decoders to an error that names the file."""
    try:
        yield
    except _BROKEN as error:
        raise TableUnreadable(
            f"{what} of the Iceberg table is broken", detail=f"{type(error).__name__}: {error}"[:1000]
        ) from error
