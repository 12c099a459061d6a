"""What a worker inherits, as it is passed on with a request or on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

_WAITS = "waits"


@dataclass(frozen=True, slots=True)
class WorkerSockets:
    """What a worker inherits: file descriptors, and its place.

    Attributes:
        metrics: One end of a pair of sockets for metrics, or `None` if the supervisor serves none.
        waits: Whether the supervisor writes a byte to `control` when the worker can accept connections.
            The supervisor of version 0.2, which an upgrade does not replace, writes none.
    """

    listener: int
    control: int
    counts: int
    place: int
    metrics: int | None = None
    waits: bool = False
    modules: int | None = None

    @classmethod
    def waiting(cls, place: int, descriptors: Sequence[int]) -> WorkerSockets:
        """What a fork server passes on, from the place and `descriptors`."""
        listener, control, counts, *metrics = descriptors
        return cls(listener, control, counts, place, metrics[0] if metrics else None, waits=True)

    def __str__(self) -> str:
        parts = (self.listener, self.control, self.counts, self.place, self.metrics)
        shown = [str(part) for part in parts if part is not None]
        return ",".join([*shown, _WAITS] if self.waits else shown)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the supervisor passes on."""
        metrics = () if self.metrics is None else (self.metrics,)
        return (self.listener, self.control, self.counts, *metrics)


class WorkerOption(click.ParamType[WorkerSockets]):
    """The value of the option with which a worker is started that can't be forked."""

    name = "FD,FD,FD,PLACE[,FD][,waits]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> WorkerSockets:
        """Convert the text of the command line."""
        if isinstance(value, WorkerSockets):
            return value
        parts = str(value).split(",")
        waits = parts[-1] == _WAITS
        try:
            listener, control, counts, place, *metrics = map(int, parts[:-1] if waits else parts)
        except ValueError:
            self.fail("expected three file descriptors and a place", param, ctx)
        return WorkerSockets(
            listener, control, counts, place, metrics[0] if metrics else None, waits=waits
        )
