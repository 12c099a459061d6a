"""Writes the head of a response together with its body, which saves a system call and a packet."""

from __future__ import annotations

import asyncio
from weakref import ref

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

# Bytes. Longer bodies are written separately, because joining copies them.
_MAX_JOINED = 65_536


class JoinedWrites(asyncio.Transport):
    """The transport of one response. It holds the head back until the first part of the body.

    The heads of streams are written at once: their first part can take time.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._cycle = ref(cycle)  # which refers to this object
        self._transport = cycle.transport
        self._on_response = cycle.on_response
        self._head: bytes | None = None
        self._is_started = False

    @classmethod
    def install(cls, cycle: RequestResponseCycle) -> None:
        """Join the writes of a response that has not started."""
        writes = cls(cycle)
        cycle.transport = writes
        cycle.on_response = writes._complete

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes of the response, in the order of the calls."""
        if self._head is not None and len(data) <= _MAX_JOINED:
            head, self._head = self._head, None
            self._transport.write(b"".join((head, data)))
        elif not self._is_started and self._holds_back():
            self._head = bytes(data)
        else:
            self._flush()
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection after everything is written."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is being closed."""
        return self._transport.is_closing()

    def _holds_back(self) -> bool:
        """Whether the bytes to be written are a head, and its body has a known length."""
        cycle = self._cycle()
        if cycle is None or not cycle.response_started:
            return False  # 100 Continue
        self._is_started = True
        return cycle.chunked_encoding is False

    def _complete(self) -> None:
        self._flush()  # a response to HEAD has no body
        self._on_response()

    def _flush(self) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)
