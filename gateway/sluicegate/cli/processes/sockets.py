"""The sockets that a worker inherits, as its command line names them."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class WorkerSockets:
    """File descriptors that a worker inherits.

    Attributes:
        listener: The bound socket, which all workers share.
        control: One end of a pair of sockets. The worker writes its address once it is ready. When the
            supervisor closes its end, or is killed, the worker stops.
    """

    listener: int
    control: int

    def __str__(self) -> str:
        return f"{self.listener},{self.control}"


class WorkerOption(click.ParamType[WorkerSockets]):
    """The value of the option with which a supervisor starts a worker."""

    name = "FD,FD"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> WorkerSockets:
        """Convert the text of the command line."""
        if isinstance(value, WorkerSockets):
            return value
        try:
            listener, control = map(int, str(value).split(","))
        except ValueError:
            self.fail("expected two file descriptors", param, ctx)
        return WorkerSockets(listener, control)
