"""What a worker inherits, as it is passed on with a request or on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class WorkerSockets:
    """What a worker inherits: file descriptors, and its place.

    Attributes:
        listener: The bound socket, which all workers share.
        control: One end of a pair of sockets. The worker writes its address once it is ready, and
            accepts connections once it has read a byte. When the supervisor closes its end, or is
            killed, the worker stops.
        counts: The file of `ProcessCounts`.
        place: The worker's place in it, which is not a file descriptor.
        metrics: One end of a pair of sockets for metrics, or `None` if the supervisor serves none.
        modules: The file to which the first worker of a fork server writes what it has imported.
    """

    listener: int
    control: int
    counts: int
    place: int
    metrics: int | None = None
    modules: int | None = None

    @classmethod
    def of(cls, place: int, descriptors: Sequence[int]) -> WorkerSockets:
        """What is passed on, from its place and `descriptors`."""
        listener, control, counts, *metrics = descriptors
        return cls(listener, control, counts, place, *metrics)

    def __str__(self) -> str:
        return ",".join(map(str, (self.place, *self.descriptors)))

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the supervisor passes on."""
        metrics = () if self.metrics is None else (self.metrics,)
        return (self.listener, self.control, self.counts, *metrics)


class WorkerOption(click.ParamType[WorkerSockets]):
    """The value of the option with which a worker is started that can't be forked."""

    name = "PLACE,FD,FD,FD[,FD]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> WorkerSockets:
        """Convert the text of the command line."""
        if isinstance(value, WorkerSockets):
            return value
        try:
            place, *descriptors = map(int, str(value).split(","))
            return WorkerSockets.of(place, descriptors)
        except (TypeError, ValueError):
            self.fail("expected a place and three file descriptors", param, ctx)
