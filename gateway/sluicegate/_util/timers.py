"""Timers that keep nothing in memory."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple, Unpack

_Arguments = TypeVarTuple("_Arguments")


def call_later(
    seconds: float, method: Callable[[Unpack[_Arguments]], None], *arguments: *_Arguments
) -> asyncio.TimerHandle:
    """Call a method after some time, unless its object is gone by then.

    The loop would otherwise keep the object and the context of the current request, and with it the
    gateway, although a reload of the configuration has closed that.
    """
    weak = weakref.WeakMethod(method)

    def call() -> None:
        if (found := weak()) is not None:
            found(*arguments)

    return asyncio.get_running_loop().call_later(seconds, call, context=Context())
