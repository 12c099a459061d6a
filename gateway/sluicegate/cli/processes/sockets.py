"""What a worker inherits, as its command line names it."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class WorkerSockets:
    """What a worker inherits: file descriptors, and its place.

    Attributes:
        listener: The bound socket, which all workers share.
        control: One end of a pair of sockets. The worker writes its address once it is ready. When the
            supervisor closes its end, or is killed, the worker stops.
        counts: The file of `ProcessCounts`.
        place: The worker's place in it, which is not a file descriptor.
        metrics: One end of a pair of sockets for metrics, or `None` if the supervisor serves none.
    """

    listener: int
    control: int
    counts: int
    place: int
    metrics: int | None = None

    def __str__(self) -> str:
        parts = (self.listener, self.control, self.counts, self.place, self.metrics)
        return ",".join(str(part) for part in parts if part is not None)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors."""
        metrics = () if self.metrics is None else (self.metrics,)
        return (self.listener, self.control, self.counts, *metrics)


class WorkerOption(click.ParamType[WorkerSockets]):
    """The value of the option with which a supervisor starts a worker."""

    name = "FD,FD,FD,PLACE[,FD]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> WorkerSockets:
        """Convert the text of the command line."""
        if isinstance(value, WorkerSockets):
            return value
        try:
            listener, control, counts, place, *metrics = map(int, str(value).split(","))
        except ValueError:
            self.fail("expected three file descriptors and a place", param, ctx)
        return WorkerSockets(listener, control, counts, place, *metrics)
